#!/usr/bin/env python3
"""Figures of tests/bench/scale.

    scale.py WORK USE GENERATORS SECONDS   one set of devices: reads WORK/load.*, devices, before, after and
                                           ticks.*, threads.* .before, .after (server, then generators; the
                                           server's threads by name), which are SECONDS apart; prints lines for
                                           people and one of JSON
    scale.py WORK report FILE              reads WORK/runs; prints ratios, writes FILE; exit 1: a ratio too small
"""
import json
import os
import sys

LEAST = {2: 1.9, 4: 3.7}  # times the frames/s of one device
BUSY = 0.9  # of a core: a generator, which is one thread, can send no more


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


def cores(work: str, seconds: float) -> list[float]:
    """Processor time between the two, in cores: of the server, then of each generator."""
    with open(f"{work}/ticks.before") as f, open(f"{work}/ticks.after") as g:
        return [(int(y) - int(x)) / os.sysconf("SC_CLK_TCK") / seconds for x, y in zip(f, g)]


def threads(work: str, seconds: float) -> dict[str, tuple[int, float, float]]:
    """The server's threads by name: how many, and between the two their processor time, in cores, and how many were ready
    to run and waited for a processor, in the mean."""
    read = []
    for when in ("before", "after"):
        with open(f"{work}/threads.{when}") as f:
            read.append({name.strip("()"): (int(n), int(t), float(w)) for name, n, t, w in map(str.split, f)})
    return {k: (n, (t - read[0].get(k, (0, 0, 0.0))[1]) / os.sysconf("SC_CLK_TCK") / seconds,
                (w - read[0].get(k, (0, 0, 0.0))[2]) / seconds)
            for k, (n, t, w) in sorted(read[1].items())}


def between(means: dict[str, float], frames_per_s: float) -> float:
    """Frames that are in the server but in no step: on their way from the device to a committer, which are too few if
    there are many, or from there into the answer."""
    known = [v for k, v in means.items() if k in ("decode", "queue", "commit") or k.startswith("stage ")]
    return max(0.0, (means.get("latency", 0.0) - sum(known)) * frames_per_s / 1e3)


def sent(before: dict[str, float], after: dict[str, float], frames: float) -> dict[str, float]:
    """What goes to the clients for each frame: bytes, blocks, points."""
    key = "recond_stream_sent_{}_total"
    return {k: (after[key.format(k)] - before.get(key.format(k), 0.0)) / max(frames, 1.0) for k in ("bytes", "blocks", "points")}


def one(work: str, use: str, generators: int, seconds: float) -> None:
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
    server, *load = cores(work, seconds)
    means = steps(before, after, frames)
    figures = {"use": use, "devices": devices,
               "frames_per_s": sum(r["used_per_s"] for r in runs),
               "p50_ms": max(r["others"]["p50_ms"] for r in runs), "p99_ms": max(r["others"]["p99_ms"] for r in runs),
               "frames_a_batch": frames / batches if batches else 0.0,
               "server_cores": server, "load_cores": sum(load), "busiest_generator": max(load),
               "steps_ms": means, "threads": threads(work, seconds), "between_steps": between(means, frames / seconds),
               "sent_a_frame": sent(before, after, frames)}
    print(f"{use}: {figures['frames_per_s']:.0f} frames/s, {figures['frames_a_batch']:.1f} a batch, "
          f"p50 {figures['p50_ms']:.1f} p99 {figures['p99_ms']:.1f} ms, server {server:.1f} cores")
    for d in devices:
        print(f"    {d['name']}: busy {d['busy']:.2f}, {d['frames']} frames")
    print("    ms: " + ", ".join(f"{k} {v:.3f}" for k, v in means.items()))
    print("    threads, cores + waiting: " + ", ".join(f"{n} {k} {v:.2f} + {w:.2f}" for k, (n, v, w) in figures["threads"].items())
          + f"; {figures['between_steps']:.0f} frames between device and answer")
    print("    sent a frame: " + ", ".join(f"{v:.0f} {k}" for k, v in figures["sent_a_frame"].items()))
    print(f"    load: {sum(load):.1f} cores, the busiest of {len(load)} generators {max(load):.2f}"
          + ("; THE LOAD IS THE LIMIT: more GENERATORS" if max(load) > BUSY else ""))
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
    one(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
