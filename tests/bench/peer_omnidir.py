#!/usr/bin/env python3
"""OpenCV's omnidir beside `reconctl calibrate`, on the same corners: python3 peer_omnidir.py RECONCTL CORNERS [SIDE]

CORNERS is what `reconctl calibrate FOLDER --corners CORNERS` writes. Each camera is calibrated by itself with both; both have
the same model, and skew is held at 0. Pictures that omnidir cannot begin with are left out of both. Both least sums of squares are
of the same thing, so what differs is how far each got.
"""
import json
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
except ImportError as e:
    print(f'peer_omnidir: {e}: install python3-opencv')
    sys.exit(77)

NAMES = ('xi', 'fx', 'fy', 'cx', 'cy', 'k1', 'k2', 'p1', 'p2')


def ours(program, rows, side):
    with tempfile.NamedTemporaryFile('w') as f:
        f.writelines('%d 0 %.9g %.9g %.9g %.9g\n' % (r[0], *r[2:]) for r in rows)
        f.flush()
        r = json.loads(subprocess.run([program, 'calibrate', f.name, '--json', '--width', str(side), '--height', str(side)],
                                      check=True, capture_output=True, text=True).stdout)
    d = r['distortion']
    return dict(zip(NAMES, (d[0], r['fx'], r['fy'], r['cx'], r['cy'], *d[1:]))), r['all_px']


def theirs(rows, side):
    pictures = sorted({r[0] for r in rows})
    board = [np.array([[[r[2], r[3], 0]] for r in rows if r[0] == p], np.float64) for p in pictures]
    seen = [np.array([[[r[4], r[5]]] for r in rows if r[0] == p], np.float64) for p in pictures]
    flags = cv2.omnidir.CALIB_FIX_SKEW
    enough = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 400, 1e-12)
    rms, K, xi, D, _, _, used = cv2.omnidir.calibrate(board, seen, (side, side), None, None, None, flags, enough)
    D = D.ravel()
    values = (xi.ravel()[0], K[0, 0], K[1, 1], K[0, 2], K[1, 2], *D[:4])
    return dict(zip(NAMES, values)), rms, [pictures[i] for i in used.ravel()], len(pictures)


def main():
    side = int(sys.argv[3]) if len(sys.argv) > 3 else 1024
    with open(sys.argv[2], encoding='utf-8') as f:
        rows = [[float(x) for x in line.split()] for line in f if not line.startswith('#')]
    for camera in sorted({r[1] for r in rows}):
        own = [r for r in rows if r[1] == camera]
        b, b_px, used, given = theirs(own, side)
        a, a_px = ours(sys.argv[1], [r for r in own if r[0] in used], side)
        print(f'camera {camera:.0f}: omnidir used {len(used)} of {given} pictures; rms {a_px:.6f} px, omnidir {b_px:.6f} px')
        for k in NAMES:
            print(f'  {k:3} {a[k]:14.7f} {b[k]:14.7f}  {100 * (a[k] / b[k] - 1):+.5f} %')


main()
