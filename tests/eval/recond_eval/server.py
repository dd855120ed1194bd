"""What recond is asked for, always through reconctl: maps and clouds of a folder, clouds and paths of sessions."""
import glob
import os
import shutil
import subprocess
import tempfile

from . import Failure
from .folder import Maps

# options that a session of kind `depth` has
DEEP = ('depth_model', 'upright', 'decode_scale', 'camera.', 'net.')


def program():
    """reconctl: $RECONCTL, beside this program, of the tree's newest build, or in PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    built = sorted(glob.glob(os.path.join(here, '../../../build/c*-release/reconctl')), key=os.path.getmtime)
    places = [os.environ.get('RECONCTL'), os.path.join(here, '../../../../bin/reconctl'), *built[::-1]]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    return shutil.which('reconctl') or 'reconctl'


def link(args):
    """The options that say which server."""
    return [word for key in ('url', 'token_file', 'ca') if getattr(args, key)
            for word in ('--' + key.replace('_', '-'), getattr(args, key))]


def run(*command):
    """Runs reconctl, which says on standard error why it fails; answers its standard output."""
    try:
        done = subprocess.run([program(), *command], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise Failure(f'{program()} cannot be run: {error.strerror}') from None
    # 6: some frames were refused, which their missing maps say
    if done.returncode not in (0, 6):
        raise Failure('', done.returncode)
    return done.stdout


def push(folder, frames, work, args, *, cloud=None, max_depth_m=1000):
    """
    Sends frames of a folder and answers their Maps.

    Without `cloud` the session is of kind `depth`: its maps are the network's alone. With `cloud`, a file or '',
    they are as the session fuses them: corrected by many views where frames have poses.
    """
    part, out = tempfile.mkdtemp(dir=work), tempfile.mkdtemp(dir=work)
    folder.part(frames, part)
    # Millimetres end at 65 m; the inverse has steps of 0.04 % at 5 m and 0.6 % at 80 m.
    unit = 'mm' if max_depth_m <= 20 else 'inverse'
    command = ['push', part, '--json', '--name', 'eval', '--mode', 'lossless', *link(args)]
    given = args.option + [f'max_depth_m={max_depth_m:g}'] * (not any(o.startswith('max_depth_m=') for o in args.option))
    if cloud is None:
        command += ['--kind', 'depth', '-O', out]
        given = [o for o in given if o.startswith(DEEP + ('max_depth_m', 'min_depth_m'))]
    else:
        command += ['--journal', 'off', '--depth-out', out] + (['-O', cloud] if cloud else [])
        command += ['--sensor-depth'] * getattr(args, 'sensor_depth', False)
    command += ['--net', args.net] if args.net else []
    if folder.meta.get('fps') and len(frames) > 1:  # the time between them is theirs where frames are left out
        command += ['--fps', f"{folder.meta['fps'] / max((frames[-1] - frames[0]) / (len(frames) - 1), 1):.9g}"]
    for option in given + ['depth_unit=' + unit]:
        command += ['-o', option]
    run(*command)
    if not os.path.exists(os.path.join(out, 'sequence.json')):
        raise Failure(f'{folder.path}: the server used no frame')
    return Maps(out, frames)


def export(args, session, path):
    """Writes a session's cloud to a file."""
    run('export', session, '-O', path, *link(args))
