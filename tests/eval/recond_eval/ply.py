"""Point clouds as PLY: text or binary, of any program; extra elements and properties are passed over."""
import numpy as np

from . import Failure

TYPES = {'char': 'i1', 'uchar': 'u1', 'short': 'i2', 'ushort': 'u2', 'int': 'i4', 'uint': 'u4', 'float': 'f4', 'double': 'f8',
         'int8': 'i1', 'uint8': 'u1', 'int16': 'i2', 'uint16': 'u2', 'int32': 'i4', 'uint32': 'u4', 'float32': 'f4',
         'float64': 'f8'}
ORDERS = {'binary_little_endian': '<', 'binary_big_endian': '>', 'ascii': ''}


class Cloud:
    """xyz [n, 3] float32; rgb [n, 3] uint8, confidence [n], up ("+y"), or None."""

    def __init__(self, xyz, rgb=None, confidence=None, up=None):
        self.xyz, self.rgb, self.confidence, self.up = np.ascontiguousarray(xyz, np.float32), rgb, confidence, up

    def __len__(self):
        return len(self.xyz)


def header(data, name):
    """The format, elements [(name, count, [(property, type or (count type, item type))])], up axis, where data begin."""
    end = data.find(b'end_header')
    if not data.startswith(b'ply') or end < 0:
        raise Failure(f'{name}: is no PLY')
    form, elements, up = None, [], None
    for line in data[:end].decode('latin-1').splitlines()[1:]:
        words = line.split()
        try:
            if words[:3] == ['comment', 'recond', 'up']:
                up = words[3]
            elif words[:1] == ['format']:
                form = ORDERS[words[1]]
            elif words[:1] == ['element']:
                elements.append((words[1], int(words[2]), []))
            elif words[:2] == ['property', 'list']:
                elements[-1][2].append((words[4], (TYPES[words[2]], TYPES[words[3]])))
            elif words[:1] == ['property']:
                elements[-1][2].append((words[2], TYPES[words[1]]))
        except (KeyError, IndexError, ValueError):
            raise Failure(f"{name}: its header cannot be read at '{line[:60]}'") from None
    if form is None:
        raise Failure(f'{name}: is no PLY')
    return form, elements, up, data.index(b'\n', end) + 1


def skip_lists(data, at, order, count, properties):
    """Where an element with lists ends."""
    for _ in range(count):
        for _, kind in properties:
            size = np.dtype(kind if isinstance(kind, str) else kind[0]).itemsize
            if not isinstance(kind, str):
                n = int(np.frombuffer(data, order + kind[0], 1, at)[0])
                at += n * np.dtype(kind[1]).itemsize
            at += size
    return at


def vertices(data, name):
    """The vertex element as {property: [n]}, and the up axis."""
    order, elements, up, at = header(data, name)
    short = Failure(f'{name}: the file is shorter than its header says')
    lines = data[at:].split(b'\n') if not order else None
    for element, count, properties in elements:
        lists = any(not isinstance(kind, str) for _, kind in properties)
        if element == 'vertex' and lists:
            raise Failure(f'{name}: its vertices have lists')
        if lines is not None:
            if len(lines) < count:
                raise short
            if element == 'vertex':
                try:
                    table = np.array([line.split() for line in lines[:count]], float).reshape(count, len(properties))
                except ValueError:
                    raise Failure(f'{name}: a vertex is not {len(properties)} numbers') from None
                return {p: table[:, k] for k, (p, _) in enumerate(properties)}, up
            lines = lines[count:]
            continue
        record = None if lists else np.dtype([(p, order + kind) for p, kind in properties])
        if element == 'vertex':
            if len(data) < at + count * record.itemsize:
                raise short
            table = np.frombuffer(data, record, count, at)
            return {p: table[p] for p, _ in properties}, up
        try:
            at = skip_lists(data, at, order, count, properties) if lists else at + count * record.itemsize
        except (ValueError, IndexError):
            raise short from None
    raise Failure(f'{name}: has no vertices')


def read(path):
    try:
        with open(path, 'rb') as file:
            data = file.read()
    except OSError as error:
        raise Failure(f'{path}: {error.strerror}') from None
    v, up = vertices(data, path)
    if not all(k in v for k in 'xyz'):
        raise Failure(f'{path}: its vertices have no x, y and z')
    rgb = np.stack([v[k] for k in ('red', 'green', 'blue')], 1).astype(np.uint8) if 'red' in v else None
    return Cloud(np.stack([v[k] for k in 'xyz'], 1), rgb, v.get('confidence'), up)


def write(path, cloud):
    """Binary, with colours where the cloud has them."""
    fields = [(k, '<f4') for k in 'xyz'] + [(k, 'u1') for k in ('red', 'green', 'blue') if cloud.rgb is not None]
    table = np.zeros(len(cloud), fields)
    for k, (name, _) in enumerate(fields):
        table[name] = cloud.xyz[:, k] if k < 3 else cloud.rgb[:, k - 3]
    names = ''.join(f"property {'float' if kind == '<f4' else 'uchar'} {name}\n" for name, kind in fields)
    up = f'comment recond up {cloud.up}\n' if cloud.up else ''
    with open(path, 'wb') as file:
        file.write(f'ply\nformat binary_little_endian 1.0\n{up}element vertex {len(cloud)}\n{names}end_header\n'.encode())
        file.write(table.tobytes())
