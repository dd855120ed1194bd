#!/usr/bin/env python3
"""Figures of tests/bench/scale.

    scale.py WORK USE GENERATORS TICKS SECONDS   one set of devices: reads WORK/load.*, devices, before, after; prints
                                                 lines for people and one of JSON
    scale.py WORK report FILE                    reads WORK/runs; prints ratios, writes FILE; exit 1: a ratio too small
"""
import json
import os
import sys

LEAST = {2: 1.9, 4: 3.7}  # times the frames/s of one device


def metrics(path: str) -> dict[str, float]:
    """Prometheus text: name with labels -> value, seconds."""
    with open(path) as f:
        pairs = [line.rsplit(" ", 1) for line in f if line.strip() and not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def steps(before: dict[str, float], after: dict[str, float], frames: float) -> dict[str, float]:
    """Means between the two, ms: of decode ... latency each time it was taken, of a stage each frame (all stages of a
    batch on CUDA are each of its frames' stages)."""
    gone = {k: v - before.get(k, 0.0) for k, v in after.items()}
    out = {}
    for name in ("decode", "queue", "compute", "commit", "latency"):
        n = gone.get(f"recond_{name}_seconds_count", 0.0)
        if n > 0:
            out[name] = 1e3 * gone[f"recond_{name}_seconds_sum"] / n
    for key, value in gone.items():
        if key.startswith("recond_stage_seconds_total") and frames > 0 and value > 0:
            out["stage " + key.split('"')[1]] = 1e3 * value / frames
    return out


def one(work: str, use: str, generators: int, ticks: int, seconds: float) -> None:
    runs = []
    for g in range(generators):
        with open(f"{work}/load.{g}") as f:
            runs += [x for x in map(json.loads, f) if x.get("phase") == "run"]
    with open(f"{work}/devices") as f:
        found = json.load(f)
    devices = [{k: d[k] for k in ("name", "busy", "frames")} for d in found["devices"]]
    before, after = metrics(f"{work}/before"), metrics(f"{work}/after")
    frames = after["recond_latency_seconds_count"] - before["recond_latency_seconds_count"]
    batches = after["recond_batches_total"] - before["recond_batches_total"]
    figures = {"use": use, "devices": devices,
               "frames_per_s": sum(r["used_per_s"] for r in runs),
               "p50_ms": max(r["others"]["p50_ms"] for r in runs), "p99_ms": max(r["others"]["p99_ms"] for r in runs),
               "frames_a_batch": frames / batches if batches else 0.0,
               "server_cores": ticks / os.sysconf("SC_CLK_TCK") / seconds,
               "steps_ms": steps(before, after, frames)}
    print(f"{use}: {figures['frames_per_s']:.0f} frames/s, {figures['frames_a_batch']:.1f} a batch, "
          f"p50 {figures['p50_ms']:.1f} p99 {figures['p99_ms']:.1f} ms, server {figures['server_cores']:.1f} cores")
    for d in devices:
        print(f"    {d['name']}: busy {d['busy']:.2f}, {d['frames']} frames")
    print("    ms: " + ", ".join(f"{k} {v:.3f}" for k, v in figures["steps_ms"].items()))
    print(json.dumps(figures))


def report(work: str, path: str) -> int:
    with open(f"{work}/runs") as f:
        runs = [json.loads(line) for line in f if line.startswith("{")]
    base, ok = runs[0], True
    for r in runs[1:]:
        n = len(r["devices"]) / len(base["devices"])
        r["ratio"] = r["frames_per_s"] / base["frames_per_s"]
        least = LEAST.get(int(n), 0.0)
        ok = ok and r["ratio"] >= least
        print(f"{r['use']} over {base['use']}: {r['ratio']:.2f}" + (f" (at least {least} wanted)" if least else ""))
    with open(path, "w") as f:
        json.dump({"runs": runs, "ok": ok}, f, indent=1)
    return 0 if ok else 1


if __name__ == "__main__":
    if sys.argv[2] == "report":
        sys.exit(report(sys.argv[1], sys.argv[3]))
    one(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
