#!/usr/bin/env python3
"""Train a congestion control for incasts, and write it as a controller file.

    python3 train.py --seed 1 --out policy.star
    pausenet run incast --cc dcqcn,swift,./policy.star

Each flow is an agent, and all have the same policy: a network with one hidden layer, which maps what a flow has seen in
an interval to a change of its rate. It is trained by evolution strategies (Salimans et al., arXiv:1703.03864): in each
generation, pairs of opposite perturbations of the weights play an episode each, and the weights move towards those with
the larger reward. Only numpy is needed.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from pausenet.env import VectorEnv

HERE = Path(__file__).parent
HIDDEN = 6
INPUTS = 7  # see inputs()
SIZE = INPUTS * HIDDEN + HIDDEN + HIDDEN + 1


def inputs(o):
    """Return what the policy sees of an observation: numbers around 0 to 1."""
    rate, goodput, rtt, least, marked, in_flight, losses = np.moveaxis(o, -1, 0)
    queueing = np.maximum(0, rtt - 1)
    return np.stack([np.sqrt(rate), np.sqrt(np.minimum(goodput, 1)), queueing / (1 + queueing),
                     np.maximum(0, least - 1) / (1 + np.maximum(0, least - 1)), marked, in_flight / (1 + in_flight),
                     np.minimum(losses, 1)], axis=-1)


def bend(x):
    """Return x between -1 and 1, by arithmetic that controller files have."""
    return x / (1 + np.abs(x))


def act(weights, o):
    """Return the actions of several policies (rows of weights), each for the rows of its observations."""
    w1 = weights[:, :INPUTS * HIDDEN].reshape(-1, INPUTS, HIDDEN)
    b1 = weights[:, INPUTS * HIDDEN:INPUTS * HIDDEN + HIDDEN]
    w2 = weights[:, -HIDDEN - 1:-1]
    hidden = bend(np.einsum("eai,eih->eah", inputs(o), w1) + b1[:, None])
    return bend(np.einsum("eah,eh->ea", hidden, w2) + weights[:, -1:])


def first(random, env, batches, seed):
    """Return the best of many random policies, and the agents' steps. From one of them, most trainings would end at the
    line rate, or at the lowest rate.
    """
    best, best_reward, steps = None, -np.inf, 0
    for batch in range(batches):
        all_weights = random.normal(0, 1, (env.num_envs, SIZE))
        rewards, n = play(env, all_weights, seed + batch)
        steps += n
        if rewards.max() > best_reward:
            best, best_reward = all_weights[rewards.argmax()], rewards.max()
    return best, steps


def play(env, weights, seed):
    """Let each environment play an episode with its weights. Return the rewards of the episodes and the agents' steps."""
    o, info = env.reset(seed=seed)
    total, steps, playing = np.zeros(len(weights)), 0, np.ones(len(weights), bool)
    while playing.any():
        o, reward, terminated, truncated, info = env.step(act(weights, o))
        total += np.where(playing, reward, 0)
        steps += int(info["active"][playing].sum())
        playing &= ~(terminated | truncated)
    return total, steps


def train(seed, generations, pairs, out, curve):
    """Train a policy, write it, and return its curve."""
    random = np.random.default_rng(seed)
    env = VectorEnv(HERE / "incast.yaml", 2 * pairs, agents="one", reward=reward, max_steps=80)
    velocity = np.zeros(SIZE)
    sigma, rate = 0.1, 0.05
    rows, begun = [], time.time()
    weights, steps = first(random, env, 30, seed * 1_000_003 + 500_000)
    for generation in range(generations + 1):
        noise = random.normal(0, 1, (pairs, SIZE))
        rewards, n = play(env, np.concatenate([weights + sigma * noise, weights - sigma * noise]), seed * 1_000_003 + generation)
        steps += n
        rows.append((generation, steps, rewards.mean(), rewards.max()))
        if generation % 20 == 0:
            print(f"seed {seed}, generation {generation:3}: mean reward {rewards.mean():7.2f}, "
                  f"{steps} steps of agents, {time.time() - begun:.0f} s", flush=True)
        # Ranks instead of rewards: an episode that went very wrong counts no more than the worst.
        ranks = rewards.argsort().argsort() / (2 * pairs - 1) - 0.5
        gradient = (ranks[:pairs] - ranks[pairs:]) @ noise / pairs
        velocity = 0.8 * velocity + rate * gradient
        weights = weights + velocity
    env.close()
    if curve:
        with open(curve, "w", newline="") as f:
            csv.writer(f).writerows([("generation", "agent_steps", "reward_mean", "reward_max"), *rows])
    Path(out).write_text(export(weights, env.declares, env.interval))
    return rows


def reward(o):
    """Return the rewards of flows: the root of what a flow got of the link, less for queueing."""
    goodput, queueing = np.minimum(o[..., 1], 1), np.maximum(0, o[..., 2] - 1)
    return 3 * np.sqrt(goodput) - 0.5 * np.log1p(queueing)


def export(weights, declares, interval):
    """Return a controller file that does what the policy does."""
    w1 = weights[:INPUTS * HIDDEN].reshape(INPUTS, HIDDEN)
    b1 = weights[INPUTS * HIDDEN:INPUTS * HIDDEN + HIDDEN]
    w2 = weights[-HIDDEN - 1:-1]

    def listed(v):
        return "[" + ", ".join(f"{x:.6g}" for x in v) + "]"

    columns = ",\n    ".join(listed(c) for c in w1.T)
    return f'''# A trained policy: examples/rl/train.py wrote this file.
summary = "a network that was trained on incasts"
{declares}
interval = {interval * 1e6:g} * us
weights = [
    {columns},
]
biases = {listed(b1)}
out = {listed(w2)}
out_bias = {weights[-1]:.6g}

def init(flow):
    flow.rate = path.line_rate
    flow.started = False
    forget(flow)

def forget(flow):
    flow.acked = 0
    flow.acks = 0
    flow.marks = 0
    flow.samples = 0
    flow.rtts = 0
    flow.least = never
    flow.losses = 0

def on_sent(flow, now, payload):
    if not flow.started:
        flow.started = True
        flow.in_flight = 0
        flow.timer = (now // interval + 1) * interval

def on_ack(flow, ack):
    flow.acked += ack.acked_bytes
    flow.acks += 1
    if ack.ce:
        flow.marks += 1
    if ack.rtt > 0:
        flow.samples += 1
        flow.rtts += ack.rtt
        flow.least = min(flow.least, ack.rtt)
    flow.in_flight = ack.in_flight

def on_nak(flow, now):
    flow.losses += 1

def on_timeout(flow, now):
    flow.losses += 1

def bend(x):
    return x / (1 + abs(x))

def on_timer(flow, now):
    line_bytes = path.line_rate / 8 * interval / seconds
    queueing = 0
    least = 0
    if flow.samples > 0:
        queueing = max(0, flow.rtts / flow.samples / path.base_rtt - 1)
        least = max(0, flow.least / path.base_rtt - 1)
    marked = 0
    if flow.acks > 0:
        marked = flow.marks / flow.acks
    in_flight = flow.in_flight * 8 * seconds / (path.line_rate * path.base_rtt)
    x = [
        sqrt(flow.rate / path.line_rate), sqrt(min(1, flow.acked / line_bytes)), bend(queueing), bend(least), marked,
        bend(in_flight), min(1, flow.losses),
    ]
    action = out_bias
    for h in range({HIDDEN}):
        sum = biases[h]
        for i in range({INPUTS}):
            sum += weights[h][i] * x[i]
        action += out[h] * bend(sum)
    flow.rate = clamp(flow.rate * (1 + bend(action) / 2), path.line_rate / 256, path.line_rate)
    flow.timer = (now // interval + 1) * interval
    forget(flow)
'''


def main():
    """Run the command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--generations", type=int, default=150)
    p.add_argument("--pairs", type=int, default=12, help="pairs of perturbations in a generation")
    p.add_argument("--out", default="policy.star", help="the controller file to write")
    p.add_argument("--curve", help="a CSV file for the learning curve")
    args = p.parse_args()
    train(args.seed, args.generations, args.pairs, args.out, args.curve)


if __name__ == "__main__":
    main()
