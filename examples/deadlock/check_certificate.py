#!/usr/bin/env python3
"""Check a certificate of deadlock freedom against a topology, with nothing of pausenet's.

    pausenet show leafspine -o json > topology.json
    check_certificate.py certificate.json topology.json
"""
import itertools
import json
import sys

certificate, shown = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
topology = shown.get("topology", shown)  # of a scenario, or the topology itself
switches = {node["name"] for node in topology["nodes"] if node["kind"] == "switch"}
links = [(link["a"], link["b"]) for link in topology["links"]]


def node(port):
    return port.rsplit("-eth", 1)[0]


edges = {node(a) for a, b in links if node(b) not in switches} | {node(b) for a, b in links if node(a) not in switches}
edges &= switches
links = [link for link in links if node(link[0]) in switches and node(link[1]) in switches]
link_of = {port: frozenset(link) for link in links for port in link}


def turns(failed, sources, to):
    """Yield each pair of ports by which frames from sources pass one after the other on shortest paths to a switch."""
    out = {name: [] for name in switches}
    for link in links:
        if frozenset(link) not in failed:
            for port, peer in (link, link[::-1]):
                out[node(port)].append((port, node(peer)))
    distance, near = {to: 0}, [to]
    for name in near:
        for _, peer in out[name]:
            if peer not in distance:
                distance[peer] = distance[name] + 1
                near.append(peer)
    onward = {n: [(p, m) for p, m in out[n] if distance[m] == distance[n] - 1] for n in near}
    passed = set(sources)
    for name in reversed(near):  # the farthest first
        for port, peer in onward[name] if name in passed else []:
            passed.add(peer)
            yield from ((port, after) for after, _ in onward[peer])


cases = compared = 0
for number, of in enumerate(certificate["classes"]):
    pairs = of["pairs"] or [(a, b) for a in edges for b in edges if a != b]
    chosen = {frozenset(link_of[port] for port in case["failed"]): case["order"] for case in of.get("cases") or []}
    positions = [{port: at for at, port in enumerate(order)} for order in of["orders"]]
    for size in range(certificate["failures"] + 1):
        for failed in map(frozenset, itertools.combinations(set(link_of.values()), size)):
            cases += 1
            position = positions[chosen.get(failed, 0)]
            for to in {pair[1] for pair in pairs}:
                for port, after in turns(failed, [a for a, b in pairs if b == to], to):
                    compared += 1
                    if not 0 <= position.get(port, -1) < position.get(after, -1):
                        sys.exit(f"classes.{number}: {port} does not come before {after} without {sorted(map(sorted, failed))}")
print(f"the certificate holds: {cases} cases, failed links: at most {certificate['failures']}; {compared} turns compared")
