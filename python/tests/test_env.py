"""Environments for reinforcement learning."""

import subprocess
import sys

import numpy as np
import pytest

import pausenet
from pausenet.env import Env, VectorEnv

SMALL = {"flows.0.size": "100KB"}


def play(env, seed, actions):
    """Return the observations and rewards of an episode."""
    observation, info = env.reset(seed=seed)
    seen, rewards = [observation], []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        seen.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            break
    return np.array(seen), np.array(rewards), terminated, truncated


def test_env():
    env = Env("incast", set=SMALL)
    assert env.observation_space.shape == (4, len(env.features)) and env.features[:2] == ["rate", "goodput"]
    assert env.action_space.contains(env.action_space.sample()) and env.interval == pytest.approx(10e-6)
    actions = np.random.default_rng(1).uniform(-1, 0.5, (200, 4))
    one, rewards, terminated, truncated = play(env, 3, actions)
    two, same, _, _ = play(env, 3, actions)
    assert terminated and not truncated
    assert np.array_equal(one, two) and np.array_equal(rewards, same)
    # 100 KB a flow, in units of what 40 Gbps carry in 10 us.
    assert one[:, :, 1].sum(axis=0) == pytest.approx(2, abs=1e-4)
    # Each action multiplies the rate, which is observed at the end of its interval.
    want = np.ones(4)
    for action, observation in zip(actions[:5], one[1:]):
        want = np.clip(want * (1 + action / 2), 1 / 256, 1)
        assert observation[:, 0] == pytest.approx(want, rel=1e-5)
    env.close()


def test_rates_and_limits():
    env = Env("incast", set=SMALL, action="rate", max_steps=3, reward=lambda o: o[..., 0])
    seen, rewards, terminated, truncated = play(env, 1, np.full((9, 4), -0.5))
    assert truncated and not terminated and len(seen) == 4
    assert seen[1:, :, 0] == pytest.approx(0.25) and rewards == pytest.approx(0.25)
    env.close()


def test_vector():
    """Each environment has the episode that an Env has for its seed, and begins the next one by itself."""
    actions = np.random.default_rng(2).uniform(-1, 0.5, (60, 4))
    with_one = VectorEnv("incast", 3, agents="one", set=SMALL, processors=1)
    with_flows = VectorEnv("incast", 3, set=SMALL, processors=2)
    assert with_one.num_envs == 3 and with_flows.num_envs == 12
    env = Env("incast", set=SMALL)
    alone, rewards, _, _ = play(env, 5, actions)
    a, _ = with_one.reset(seed=5)
    b, _ = with_flows.reset(seed=5)
    assert np.array_equal(a.reshape(12, -1), b) and np.array_equal(a[0], alone[0])
    for n, action in enumerate(actions):
        many = np.repeat(action[None], 3, 0)
        a, r, terminated, truncated, _ = with_one.step(many)
        b, each, ended, cut, info = with_flows.step(many.reshape(12, 1))
        assert np.array_equal(a.reshape(12, -1), b) and with_flows.observation_space.contains(b)
        assert not truncated.any() and not cut.any()
        if n + 1 < len(alone):
            assert np.array_equal(a[0], alone[n + 1]) and r[0] == pytest.approx(rewards[n])
            assert bool(terminated[0]) == (n + 2 == len(alone))
        elif n + 1 == len(alone):  # the next episode
            assert (r[0], each[:4].tolist()) == (0, [0] * 4) and (a[0, :, 0] == 1).all()
    for each in (with_one, with_flows, env):
        each.close()


def test_mistakes():
    with pytest.raises(pausenet.Error, match='did you mean "incast"') as e:
        Env("incost")
    assert e.value.exit_code == 2
    with pytest.raises(pausenet.Error, match="--interval"):
        Env("incast", interval="10")
    with pytest.raises(ValueError, match="action='speed'"):
        Env("incast", action="speed")
    env = Env("incast", set=SMALL)
    with pytest.raises(pausenet.Error, match="without a reset"):
        env.step(np.zeros(4))


def test_gymnasium(tmp_path):
    """With gymnasium, the classes are its own. This is a stand-in with the names that env.py uses."""
    for name, text in {
            "gymnasium/__init__.py": "from gymnasium import spaces, vector\nclass Env: pass\n",
            "gymnasium/spaces.py": "class Box:\n    def __init__(self, low, high, shape): self.shape = shape\n",
            "gymnasium/vector.py": "class VectorEnv: pass\nclass AutoresetMode: NEXT_STEP = 'next'\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    code = (f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
            "import gymnasium; from pausenet.env import Env, VectorEnv\n"
            "assert issubclass(Env, gymnasium.Env) and issubclass(VectorEnv, gymnasium.vector.VectorEnv)\n"
            "assert VectorEnv.metadata['autoreset_mode'] == 'next'\n"
            "assert type(Env('incast').action_space) is gymnasium.spaces.Box\n")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_events():
    """A step ends at an event, only flows with one act, and each flow has a start, ACKs and an end."""
    env = Env("incast", set={"flows.0.size": "20KB"}, interval=None, hops=1, action="rate")
    assert env.features[7:] == ["hop1_queue", "hop1_rate", "hop1_tx", "hop1_gradient"] and env.interval == 0
    assert '"INT"' in env.declares
    observation, info = env.reset(seed=1)
    count, time, over = np.zeros((5, 4), int), 0.0, False
    while not over:
        assert env.observation_space.contains(observation) and info["time_ns"] >= time
        time = info["time_ns"]
        count += (info["events"] >> np.arange(5)[:, None]) & 1
        before = observation
        observation, reward, over, truncated, info = env.step(np.full(4, -0.5))
        assert not truncated and np.array_equal(observation[info["events"] == 0], before[info["events"] == 0])
    count += (info["events"] >> np.arange(5)[:, None]) & 1
    # 20 packets a flow, the last ACK of which is its end.
    assert dict(zip(env.events, count.tolist())) == {
        "start": [1] * 4, "ack": [19] * 4, "nak": [0] * 4, "timeout": [0] * 4, "end": [1] * 4}
    assert observation[:, 0] == pytest.approx(0.25) and observation[:, 8] == pytest.approx(1)
    env.close()
