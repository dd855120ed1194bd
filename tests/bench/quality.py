"""Tables of tests/bench/quality: FOLDER NAME... - reads FOLDER/NAME.json, NAME.depth.json and NAME.path.json."""
import json
import os
import sys


def load(folder, name):
    path = os.path.join(folder, name)
    return json.load(open(path)) if os.path.exists(path) else None


def f_at(row, r):
    for at in row["radii"]:
        if abs(at["r"] - r) < 1e-6:
            found, right = 1 - at["fne"], 1 - at["fpe"]
            return 2 * found * right / (found + right) if found + right > 0 else 0
    return None


def cell(row):
    """F at 3 and at 5 cm, thickness of walls in millimetres."""
    if not row:
        return "none |  | "
    walls = row["walls"]
    thick = f"{1000 * walls['median']:.0f}, {1000 * walls['p90']:.0f}" if walls["patches"] else ""
    return f"{f_at(row, 0.03):.2f} | {row['f']:.2f} | {thick}"


def scenes(folder, names):
    print("| sequence | frames | depth: AbsRel | own scale removed | session: points | complete | accurate |"
          " F 3 cm | F 5 cm | walls, mm | average: F 3 cm | F 5 cm | walls, mm | TSDF: F 3 cm | F 5 cm | walls, mm |")
    print("|---" * 16 + "|")
    for name in names:
        scene, depth = load(folder, name + ".json"), load(folder, name + ".depth.json")
        if scene:
            rows, own = scene["rows"], scene["rows"]["session"]
            counts = f"{own['points']} | {own['completeness']:.2f} | {own['accuracy']:.2f}" if own else "0 |  | "
            print(f"| {name} | {scene['frames']} | {scene['depth']['abs_rel']:.3f} | {scene['depth_scaled']['abs_rel']:.3f} | {counts} | "
                  + " | ".join(cell(rows[k]) for k in ("session", "average", "tsdf")) + " |")
        elif depth:
            mean = depth["frame_mean"]
            print(f"| {name} | {depth['frames']} | {mean['raw']['abs_rel']:.3f} | {mean['scaled']['abs_rel']:.3f} |" + "  |" * 12)


def paths(folder, names):
    found = [(n, p) for n in names if (p := load(folder, n + ".path.json"))]
    if not found:
        return
    print("\n| path without poses | ATE, m | standing still | a frame, mm | standing still | a metre, mm | standing still |")
    print("|---" * 7 + "|")
    for name, p in found:
        still = p["still"]
        rows = [(p["ate_se3_m"], still["ate_m"], 1)]
        rows += [(p[k]["translation_m"], still[k]["translation_m"], 1000) for k in ("rpe_frame", "rpe_metre")]
        print(f"| {name} | " + " | ".join(f"{by * v['rmse']:.4g}" if v else "" for own, none, by in rows for v in (own, none)) + " |")


if __name__ == "__main__":
    scenes(sys.argv[1], sys.argv[2:])
    paths(sys.argv[1], sys.argv[2:])
