#!/usr/bin/env python3
"""Runs the public simulators on the cases of cases.yaml, and writes what they print into outputs/TOOL.jsonl.

Usage: rerun.py PROGRAMS [CASE...]

PROGRAMS is the folder in which build.sh left the programs; without names, all cases run. Needs python3-yaml. A line of the
outputs is one run: the command, the completion time of each flow in microseconds, and the simulator's counters.
"""
import csv
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).parent.parent
END = 200_000  # us of simulated time, beyond the end of every flow

# A leaf-spine fabric as htsim's FatTreeTopology reads it.
TOPOLOGY = """Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps {rate}
Radix_Down 8
Radix_Up 8
Downlink_Latency_ns {delay}
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps {rate}
Radix_Down 4
Downlink_Latency_ns {delay}
Switch_Latency_ns 0
"""


def flows_of(case, seed):
    """Returns the case's flows as (source, destination, bytes, start in ns)."""
    path = ROOT / 'scenarios' / case['flows'].replace('{seed}', str(seed))
    return [(int(r['src'][1:]), int(r['dst'][1:]), int(r['size_bytes']), int(r['start_ns'])) for r in csv.DictReader(path.open())]


def htsim(programs, case, seed, folder):
    """Runs a program of htsim and returns its command, completion times and counters."""
    run = case['run']
    flows = flows_of(case, seed)
    name = case['flows'].replace('{seed}', str(seed)).removesuffix('.csv')
    nodes = run.get('nodes', 32)
    delay = case['delays'][seed - 1].removesuffix('ns') if 'delays' in case else 1000
    (folder / f'{name}.cm').write_text(
        f'Nodes {nodes}\nConnections {len(flows)}\n' +
        ''.join(f'{s}->{d} id {i} start 0 size {n}\n' for i, (s, d, n, _) in enumerate(flows, 1)))
    command = f'{run["program"]} -nodes {nodes} -tm {name}.cm -linkspeed {run["rate"] * 1000} -end {END} {run["arguments"]}'
    if nodes == 32:  # else a fat-tree of so many hosts, the program's own
        (folder / f'leafspine-{run["rate"]}.topo').write_text(TOPOLOGY.format(rate=run['rate'], delay=delay))
        command += f' -topo leafspine-{run["rate"]}.topo'
    if run['program'] == 'htsim_uec':
        command += ' -sack_threshold 4000'  # an ACK for each packet, as pausenet has it
    if run['program'] != 'htsim_swift':  # which has none
        command += f' -seed {seed}'
    done = subprocess.run([programs / run['program'], *command.split()[1:]], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{command}: {done.stdout[-2000:]}{done.stderr}')
    got = htsim_results(done.stdout)
    if any(' rack' in row['metric'] for row in case['rows']):
        ended = {int(m[1]): float(m[2]) for m in re.finditer(r'flowId (\d+) .*finished at ([\d.]+)', done.stdout)}
        for key, near in (('near_us', True), ('far_us', False)):
            got[key] = [ended[i] for i, (s, d, *_) in enumerate(flows, 1) if near == (s // 8 == d // 8)]
    return command, got


def htsim_results(text):
    """Returns completion times and counters of what a program of htsim printed."""
    got = {'fct_us': sorted(float(m[1]) for m in re.finditer(r'finished at ([\d.]+)', text))}
    if m := re.search(r'New: (\d+) +Rtx: (\d+)', text):
        got['sent'], got['retransmitted'] = int(m[1]), int(m[2])
    if m := re.search(r'GSTAT marks (\d+) trims (\d+) drops (\d+)', text):
        got['marks'], got['trims'], got['drops'] = int(m[1]), int(m[2]), int(m[3])
    if m := re.search(r'GSTAT pauses (\d+)', text):
        got['pauses'] = int(m[1])
    return got


# What run.py of HPCC's simulator writes for --bw BW, but for its tracing. The keys of CONTROLS differ by congestion control.
CONFIG = """ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix.tr
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE pfc.txt
SIMULATOR_STOP_TIME 2.2
CC_MODE {mode}
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN {g}
FAST_RECOVERY_TIMES 1
RATE_AI {ai}Mbps
RATE_HAI {hai}Mbps
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 615Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN {window}
GLOBAL_T 1
VAR_WIN {window}
FAST_REACT {fast}
U_TARGET 0.95
MI_THRESH 0
INT_MULTI {multi}
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO {ack}
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 2 {rate} {kmax} {fast_rate} {kmax4}
KMIN_MAP 2 {rate} {kmin} {fast_rate} {kmin4}
PMAX_MAP 2 {rate} {pmax} {fast_rate} {pmax}
BUFFER_SIZE {buffer}
QLEN_MON_FILE qlen.txt
QLEN_MON_START 3000000000
QLEN_MON_END 3000000001
"""

CONTROLS = {
    'dcqcn': lambda bw: dict(mode=1, g=0.00390625, ai=bw // 5, hai=2 * bw, window=0, fast=0, multi=1, ack=1),
    'hp': lambda bw: dict(mode=3, g=0.00390625, ai=bw * 10 // 25, hai=bw * 10 // 25, window=1, fast=1, multi=bw // 25, ack=0),
    'timely': lambda bw: dict(mode=7, g=0.00390625, ai=bw, hai=5 * bw, window=0, fast=0, multi=1, ack=1),
    'dctcp': lambda bw: dict(mode=8, g=0.0625, ai=10, hai=10, window=1, fast=0, multi=1, ack=0, kmin=3 * bw, kmax=3 * bw, pmax=1.0),
}

def ns3_config(cc, bw, folder, changes=()):
    """Writes a configuration file, in which changes replace values by key."""
    values = dict(kmin=4 * bw, kmax=16 * bw, pmax=0.2) | CONTROLS[cc](bw)
    values |= dict(rate=bw * 10**9, fast_rate=4 * bw * 10**9, kmin4=4 * values['kmin'], kmax4=4 * values['kmax'], buffer=16 * bw // 50)
    text = CONFIG.format(**values)
    for key, value in dict(changes).items():
        text = re.sub(f'^{key} .*', f'{key} {value}', text, flags=re.M)
    (folder / 'config.txt').write_text(text)


def ns3(programs, case, seed, folder):
    """Runs HPCC's simulator and returns its command, completion times and PAUSE frames."""
    run = case['run']
    bw = run['rate']
    ns3_config(run['cc'], bw, folder)
    flows = flows_of(case, seed)
    (folder / 'trace.txt').write_text('0\n')
    (folder / 'flow.txt').write_text(f'{len(flows)}\n' + ''.join(f'{s} {d} 3 100 {n} 2\n' for s, d, n, _ in flows))
    (folder / 'topology.txt').write_text((ROOT / 'scenarios' / f'leafspine-{bw}.txt').read_text())
    environment = {'NS_GLOBAL_VALUE': f'RngRun={seed}'}
    done = subprocess.run([programs / run['program'], 'config.txt'], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{case["name"]}: {done.stdout[-2000:]}{done.stderr}')
    fct = sorted(int(line.split()[6]) / 1e3 for line in (folder / 'fct.txt').read_text().splitlines())
    pauses = sum(line.split()[4] == '1' for line in (folder / 'pfc.txt').read_text().splitlines())
    trace = case['flows'].replace('{seed}', str(seed))
    command = f'NS_GLOBAL_VALUE=RngRun={seed} python2 run.py --cc {run["cc"]} --bw {bw} --topo leafspine-{bw} --trace {trace}'
    return command, {'fct_us': fct, 'pauses': pauses}


# PowerTCP's simulator takes these of the command line, and the others of HPCC's file.
POWER = {'power': ('hp', 3, 1, 0, 1), 'theta': ('hp', 3, 1, 1, 1), 'hp': ('hp', 3, 0, 0, 1), 'dcqcn': ('dcqcn', 1, 0, 0, 0),
         'timely': ('timely', 7, 0, 0, 0)}


def power_ns3(programs, case, seed, folder):
    """Runs the simulator of PowerTCP's authors and returns its command, completion times, and what its meter shows."""
    run = case['run']
    like, mode, power, delay, window = POWER[run['cc']]
    changes = {'SIMULATOR_STOP_TIME': 0.1, 'INT_MULTI': 1, 'BUFFER_SIZE': 100} | run.get('config', {})
    ns3_config(like, run['rate'], folder, changes)
    flows = flows_of(case, seed)
    (folder / 'flow.txt').write_text(f'{len(flows)}\n' + ''.join(
        f'{s} {d} 3 100 {n} {start / 1e9:.9f}\n' for s, d, n, start in sorted(flows, key=lambda f: f[3])))
    (folder / 'topology.txt').write_text('10 1 1 9\n9\n' + ''.join(f'{h} 9 {run["rate"]}Gbps 1us 0\n' for h in range(9)))
    command = f'{run["program"]} --conf=config.txt --algorithm={mode} --wien={power} --delayWien={delay} --windowCheck={window}'
    environment = {'NS_GLOBAL_VALUE': f'RngRun={seed}'}
    arguments = command.split()[1:]
    done = subprocess.run([programs / run['program'], *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{case["name"]}: {done.stdout[-2000:]}{done.stderr}')
    times, rtts, received = {}, [], {}
    for line in (folder / 'fct.txt').read_text().splitlines():
        source, *_, start, fct, _ = line.split()
        times[int(source, 16) >> 8 & 0xffff] = int(start), int(fct)
    for kind, *numbers in map(str.split, (folder / 'meter.txt').read_text().splitlines()):
        if kind == 'rtt':
            rtts.append((int(numbers[0]), int(numbers[1])))
        else:
            received[int(numbers[0]), int(numbers[1])] = int(numbers[2])
    values = {'median RTT': quantile(rtts, 0.5) / 1e3}
    if case['flows'].startswith('join'):
        values |= join(times, received)
    else:
        values['fairness'] = fairness(times, received)
    more = ' '.join([f'RngRun={seed}', case['flows'].replace('{seed}', str(seed)), *(f'{k}={v}' for k, v in changes.items())])
    return f'{command} # {more}', {'fct_us': sorted(f / 1e3 for _, f in times.values()), 'values': values}


def quantile(counts, q):
    """Returns the least value that at least a share q of the counted ones do not exceed."""
    left = q * sum(n for _, n in counts)
    for value, n in counts:
        left -= n
        if left <= 0:
            return value


def fairness(times, received, window=20):
    """Returns the mean of Jain's index over windows of 200 us, of the flows that are active throughout, if two or more."""
    found = []
    for w in range(0, 10_000, window):
        active = [h for h, (start, fct) in times.items() if start <= w * 10_000 and start + fct >= (w + window) * 10_000]
        got = [sum(received.get((h, k), 0) for k in range(w, w + window)) for h in active]
        if len(got) > 1 and any(got):
            found.append(sum(got)**2 / len(got) / sum(x * x for x in got))
    return sum(found) / len(found)


def join(times, received):
    """Returns what the flow of the last host has of the bandwidth in 100 us after its start, and what others have after its end."""
    *others, last = sorted(times)
    start, fct = times[last]

    def goodput(hosts, after):
        return sum(received.get((h, after // 10_000 + k), 0) for h in hosts for k in range(1, 11)) * 8 / 100_000

    return {
        'FCT of the joining flow': fct / 1e3,
        'FCT of the others': sum(times[h][1] for h in others) / len(others) / 1e3,
        'first share': goodput([last], start) / goodput(times, start),
        'goodput after the leave': goodput(others, start + fct),
    }


RUNS = {'uet-htsim': htsim, 'csg-htsim': htsim, 'hpcc-ns3': ns3, 'powertcp-ns3': power_ns3}


def main():
    programs, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    cases = yaml.safe_load((ROOT / 'cases.yaml').read_text())
    for tool in (t['name'] for t in cases['tools'] if 'repository' in t):
        path = ROOT / 'outputs' / f'{tool}.jsonl'
        lines = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
        for case in (c for c in cases['cases'] if c['tool'] == tool and (not wanted or c['name'] in wanted)):
            lines = [x for x in lines if x['case'] != case['name']]
            for seed in range(1, case.get('seeds', 1) + 1):
                with tempfile.TemporaryDirectory() as folder:
                    command, got = RUNS[tool](programs, case, seed, pathlib.Path(folder))
                if len(got['fct_us']) != len(flows_of(case, seed)):
                    print(f'{case["name"]} seed {seed}: only {len(got["fct_us"])} flows ended', file=sys.stderr)
                date = datetime.date.today().isoformat()
                lines.append({'case': case['name'], 'seed': seed, 'date': date, 'command': command, **got})
                fct = got['fct_us'] or [0]
                counters = {k: v for k, v in got.items() if k != 'fct_us'}
                print(f'{case["name"]:28} {seed} mean {sum(fct) / len(fct):9.1f} max {fct[-1]:9.1f}', counters)
            order = {c['name']: i for i, c in enumerate(cases['cases'])}
            lines = sorted((x for x in lines if x['case'] in order), key=lambda x: (order[x['case']], x['seed']))
            path.write_text(''.join(json.dumps(x) + '\n' for x in lines))


if __name__ == '__main__':
    main()
