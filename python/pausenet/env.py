"""Environments for reinforcement learning: agents set the rates of a scenario's flows, step by step.

They have Gymnasium's interface, and are Gymnasium's own classes if gymnasium is installed. Only numpy is needed.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from pausenet import _command, _warm

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode

    _Env: Any = gymnasium.Env
    _VectorEnv: Any = gymnasium.vector.VectorEnv
    _METADATA: Dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
except ImportError:
    _Env = _VectorEnv = object
    _METADATA = {"render_modes": [], "autoreset_mode": "NextStep"}

    class Box:  # type: ignore[no-redef]
        """A box of real numbers, with the part of gymnasium.spaces.Box that agents use."""

        def __init__(self, low: Any, high: Any, shape: Optional[Tuple[int, ...]] = None, dtype: Any = np.float32,
                     seed: Optional[int] = None) -> None:
            self.shape = tuple(shape) if shape is not None else np.shape(low)
            self.dtype = np.dtype(dtype)
            self.low = np.full(self.shape, low, dtype)
            self.high = np.full(self.shape, high, dtype)
            self.seed(seed)

        def seed(self, seed: Optional[int] = None) -> None:
            """Seed the samples."""
            self._random = np.random.default_rng(seed)

        def sample(self) -> Any:
            """Return a random element."""
            return self._random.uniform(self.low, self.high).astype(self.dtype)

        def contains(self, x: Any) -> bool:
            """Return whether x is in the box."""
            x = np.asarray(x)
            return bool(x.shape == self.shape and np.all(x >= self.low) and np.all(x <= self.high))

        def __repr__(self) -> str:
            return f"Box({self.low.min()}, {self.high.max()}, {self.shape}, {self.dtype})"

#: A function from observations, with the features as their last axis, to rewards without that axis.
Reward = Callable[[Any], Any]

_STEP, _RESET, _LEAVE = 0, 1, 2
_WAITING, _ACTIVE, _ENDED = 0, 1, 2


def reward(observation: Any) -> Any:
    """Return the default reward of observations: the square root of the goodput, less 0.05 for each base RTT of
    queueing. The root makes equal shares worth more than unequal ones.
    """
    goodput, rtt = observation[..., 1], observation[..., 2]
    return np.sqrt(goodput) - 0.05 * np.maximum(0, rtt - 1)


class _Program:
    """The process that simulates a number of environments."""

    def __init__(self, scenario: str, count: int, settings: Optional[Mapping[str, Any]], **flags: Any) -> None:
        self.command = [_command.binary(), "env", f"--count={count}", *_command.arguments(flags)]
        self.command += [f"--set={k}={_command.setting(v)}" for k, v in (settings or {}).items()]
        self.command += ["--", scenario]
        try:
            # In a session of its own: Ctrl-C must not end it while Python goes on.
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, start_new_session=True)
        except OSError as e:
            raise _command.Error(f"{self.command[0]}: {e.strerror}", _command.ENVIRONMENT, self.command) from e
        assert self.process.stdin is not None and self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        line = self.output.readline()
        if not line:
            self.fail()
        self.hello: Dict[str, Any] = json.loads(line)
        agents, features = self.hello["agents"], len(self.hello["features"])
        all_agents = count * agents
        # Views of one buffer each, so that a request is one write and a reply one read.
        self.request = bytearray(count * 9 + all_agents * 4)
        self.operations = np.frombuffer(self.request, np.uint8, count)
        self.seeds = np.frombuffer(self.request, "<u8", count, count)
        self.rates = np.frombuffer(self.request, "<f4", all_agents, count * 9)
        self.reply = bytearray(count * 9 + all_agents * (4 * features + 2))
        at = 8 * count
        self.times = np.frombuffer(self.reply, "<f8", count)
        self.observations = np.frombuffer(self.reply, "<f4", all_agents * features, at).reshape(count, agents, features)
        at += 4 * all_agents * features
        self.states = np.frombuffer(self.reply, np.uint8, all_agents, at).reshape(count, agents)
        self.events = np.frombuffer(self.reply, np.uint8, all_agents, at + all_agents).reshape(count, agents)
        self.over = np.frombuffer(self.reply, np.uint8, count, at + 2 * all_agents)

    def exchange(self) -> None:
        """Send the request, and read the reply."""
        try:
            self.input.write(self.request)
            self.input.flush()
        except (BrokenPipeError, ValueError):
            self.fail()
        head = self.output.read(8)
        if len(head) < 8:
            self.fail()
        length = int.from_bytes(head, "little")
        if length > 0:
            message = self.output.read(length).decode(errors="replace")
            self.close()
            raise _command.Error(message, _command.FAILED, self.command)
        view = memoryview(self.reply)
        got = 0
        while got < len(view):
            n = self.output.readinto(view[got:])  # type: ignore[attr-defined]
            if not n:
                self.fail()
            got += n

    def fail(self) -> None:
        """Raise the error of a process that has ended."""
        _, errors = self.process.communicate()
        output = _command.Output(self.command, self.process.returncode, "", errors.decode(errors="replace"))
        output.fail()

    def close(self) -> None:
        """End the process."""
        if self.process.poll() is None:
            try:
                self.input.close()
            except BrokenPipeError:
                pass
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


class _Base:
    """What both kinds of environments share."""

    def _open(self, scenario: Any, count: int, interval: Any, action: str, reward_of: Reward, set: Any,
              max_steps: Optional[int], **flags: Any) -> None:
        if action not in ("change", "rate"):
            raise ValueError(f'action={action!r}: expected "change" or "rate"')
        self._program = _Program(str(scenario), count, set, events=interval is None,
                                 interval=None if interval is None else str(interval), **flags)
        hello = self._program.hello
        #: The names of the features, in the order of an observation.
        self.features: List[str] = [f["name"] for f in hello["features"]]
        #: The declarations with which a controller file must begin to run under the same conditions.
        self.declares: str = hello["declares"]
        #: The virtual time of a step, in seconds; 0 if a step ends at the next event of a flow.
        self.interval: float = hello["interval_ps"] * 1e-12
        #: The names of events: bit i of info["events"] is events[i].
        self.events: List[str] = hello["events"]
        self._least, self._agents, self._count = hello["least_rate"], hello["agents"], count
        self._action, self._reward, self._max_steps = action, reward_of, max_steps
        self._low = np.array([f["low"] for f in hello["features"]], np.float32)
        self._high = np.array([f["high"] for f in hello["features"]], np.float32)
        self._steps = np.zeros(count, int)
        self._rates = self._program.rates.reshape(count, self._agents)

    def _set_rates(self, actions: Any) -> None:
        actions = np.asarray(actions, np.float32).reshape(self._rates.shape)
        acts: Any = True if self.interval else self._program.events != 0
        if self._action == "rate":
            np.multiply(np.add(actions, 1), 0.5, out=self._rates, where=acts)
        else:
            np.multiply(self._rates, 1 + 0.5 * np.minimum(np.maximum(actions, -1), 1), out=self._rates, where=acts)
        np.maximum(self._rates, self._least, out=self._rates)
        np.minimum(self._rates, 1, out=self._rates)

    def _rewarded(self, active: Any) -> Any:
        """Return which flows have a reward for the step: those that were active, or those with an event."""
        return active if self.interval else self._program.events != 0

    def _ends(self) -> Tuple[Any, Any]:
        """Return which environments have terminated (all flows have ended), and which are cut off."""
        p = self._program
        terminated = (p.states == _ENDED).all(axis=1)
        truncated = p.over.astype(bool) & ~terminated
        if self._max_steps is not None:
            truncated |= (self._steps >= self._max_steps) & ~terminated
        return terminated, truncated

    def close(self, **kwargs: Any) -> None:
        """End the simulation."""
        self._program.close()

    def __del__(self) -> None:
        program = getattr(self, "_program", None)
        if program is not None:
            program.close()


class Env(_Base, _Env):  # type: ignore[misc]
    """One agent that sets the rates of all flows of a scenario.

    An observation has a row for each flow. An action has a number in -1..1 for each: with action="change", the flow's
    rate is multiplied by 1 + action/2; with action="rate", it is set to (1 + action)/2 of the line's. The reward is the
    mean over the flows that are active.

    With interval=None a step ends at the next event of a flow: its start, an ACK, a NAK or a timeout. Only flows with an
    event have a new observation, and only their actions count. hops=N adds the telemetry (INT) of the first N switches
    of each flow's path to its observation.

    An episode terminates when all flows have ended, and is truncated after the
    scenario's duration or max_steps.
    """

    metadata = _METADATA

    def __init__(self, scenario: Any, *, interval: Any = "10us", hops: int = 0, action: str = "change",
                 reward: Reward = reward, set: Optional[Mapping[str, Any]] = None, quick: bool = False,
                 max_steps: Optional[int] = None) -> None:
        self._open(scenario, 1, interval, action, reward, set, max_steps, hops=hops, quick=quick, processors=1)
        n, k = self._agents, len(self.features)
        self.observation_space = Box(np.tile(self._low, (n, 1)), np.tile(self._high, (n, 1)), (n, k))
        self.action_space = Box(-1.0, 1.0, (n,))
        self._seed = 1

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Dict[str, Any]]:
        """Start an episode. Without a seed, each episode has the seed after that of the one before."""
        self._seed = self._seed + 1 if seed is None else seed
        p = self._program
        p.operations[0], p.seeds[0], self._steps[0] = _RESET, self._seed, 0
        p.exchange()
        self._rates[:] = 1
        return p.observations[0].copy(), self._info()

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        """Let a step pass with the rates of an action."""
        p = self._program
        self._set_rates(action)
        p.operations[0] = _STEP
        active = p.states[0] == _ACTIVE
        p.exchange()
        self._steps += 1
        active = self._rewarded(active[None])[0]
        terminated, truncated = self._ends()
        observation = p.observations[0].copy()
        value = float(self._reward(observation)[active].mean()) if active.any() else 0.0
        return observation, value, bool(terminated[0]), bool(truncated[0]), self._info()

    def _info(self) -> Dict[str, Any]:
        p = self._program
        return {"time_ns": float(p.times[0]), "active": p.states[0] == _ACTIVE, "seed": self._seed,
                "events": p.events[0].copy()}


class VectorEnv(_Base, _VectorEnv):  # type: ignore[misc]
    """Several environments at once.

    With agents="flow", each flow of each environment is an agent: num_envs is count times the number of flows, and
    the flows of an environment are next to each other. A flow that has ended terminates; its rewards are 0 until its
    environment's next episode. With agents="one", an agent controls all flows of an environment, as in Env.

    An environment whose episode is over starts the next one in the next step (Gymnasium's NEXT_STEP), whose action it
    ignores. Its seed is a function of the seed of reset, the environment and the number of the episode.
    """

    metadata = _METADATA

    def __init__(self, scenario: Any, count: int, *, agents: str = "flow", interval: Any = "10us", hops: int = 0,
                 action: str = "change", reward: Reward = reward, set: Optional[Mapping[str, Any]] = None,
                 quick: bool = False, max_steps: Optional[int] = None, processors: Optional[int] = None) -> None:
        if agents not in ("flow", "one"):
            raise ValueError(f'agents={agents!r}: expected "flow" or "one"')
        self._open(scenario, count, interval, action, reward, set, max_steps, hops=hops, quick=quick, processors=processors)
        n, k = self._agents, len(self.features)
        self._each_flow = agents == "flow"
        if self._each_flow:
            self.num_envs = count * n
            self.single_observation_space = Box(self._low, self._high, (k,))
            self.single_action_space = Box(-1.0, 1.0, (1,))
        else:
            self.num_envs = count
            self.single_observation_space = Box(np.tile(self._low, (n, 1)), np.tile(self._high, (n, 1)), (n, k))
            self.single_action_space = Box(-1.0, 1.0, (n,))
        for name in ("observation", "action"):
            one = getattr(self, f"single_{name}_space")
            setattr(self, f"{name}_space", Box(np.repeat(one.low[None], self.num_envs, 0),
                                               np.repeat(one.high[None], self.num_envs, 0), (self.num_envs, *one.shape)))
        self._seed = 1
        self._episodes = np.zeros(count, np.uint64)
        self._spread = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self._over = np.ones(count, bool)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Dict[str, Any]]:
        """Start an episode of each environment."""
        if seed is not None:
            self._seed = seed
            self._episodes[:] = 0
        self._over[:] = True
        self._proceed()
        return self._observation(), self._info()

    def step(self, actions: Any) -> Tuple[Any, Any, Any, Any, Dict[str, Any]]:
        """Let a step of each environment pass."""
        p = self._program
        fresh = self._over.copy()
        active = (p.states == _ACTIVE) & ~fresh[:, None]
        self._set_rates(actions)
        self._proceed()
        active = self._rewarded(active) & ~fresh[:, None]
        terminated, truncated = self._ends()
        terminated &= ~fresh
        truncated &= ~fresh
        self._over = terminated | truncated
        rewards = np.where(active, self._reward(p.observations), 0)
        if self._each_flow:
            ended = (p.states == _ENDED) & active
            cut = np.repeat(truncated, self._agents) & ~ended.ravel()
            return self._observation(), rewards.ravel(), ended.ravel(), cut, self._info()
        rewards = rewards.sum(axis=1) / np.maximum(1, active.sum(axis=1))
        return self._observation(), rewards, terminated, truncated, self._info()

    def _proceed(self) -> None:
        """Step the environments, and reset those whose episode is over."""
        p, over = self._program, self._over
        p.operations[:] = over  # _RESET or _STEP
        if some := over.any():
            # Seeds of environments and episodes are far apart: SplitMix64's increment.
            p.seeds[:] = np.uint64(self._seed) + self._spread + self._episodes
        p.exchange()
        self._steps += 1
        if some:
            self._rates[over], self._steps[over] = 1, 0
            self._episodes += over
            over[:] = False

    def _observation(self) -> Any:
        o = self._program.observations.copy()
        return o.reshape(-1, o.shape[2]) if self._each_flow else o

    def _info(self) -> Dict[str, Any]:
        p = self._program
        return {"time_ns": p.times.copy(), "active": (p.states == _ACTIVE).copy(), "events": p.events.copy()}
