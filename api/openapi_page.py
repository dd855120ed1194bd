#!/usr/bin/env python3
"""openapi_page.py YAML PAGE [--check] - docs/API.md out of the REST contract

--check compares the page with what would be written, and says where it differs.
"""
import re
import sys

import yaml


def sentence(text):
    """A description in one line; the page lies in docs/, beside the pages that the contract names."""
    text = ' '.join((text or '').split())
    text = re.sub(r'docs/(\w+)\.md, "([^"]+)"',
                  lambda m: f'[{m[1]}]({m[1]}.md#{m[2].lower().replace(" ", "-")})', text)
    text = re.sub(r'\(docs/(\w+)\.md\)', r'([\1](\1.md))', text)
    return text + '.' if text and text[-1] not in '.:!?' else text


def allowed(schema):
    """What a value may be, and what it is when nothing is said."""
    if 'enum' in schema:
        text = ', '.join(f'`{word}`' for word in schema['enum'])
    elif 'minimum' in schema:
        text = f'{schema["minimum"]:.10g}...{schema["maximum"]:.10g}'
    elif 'pattern' in schema:
        text = ''
    else:
        text = {'boolean': 'true or false', 'array': 'list', 'object': ''}.get(schema['type'], '')
    default = schema.get('default')
    if default not in (None, '', False):
        text += (' ' if text else '') + f'(`{default}`)'
    return text


class Contract:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            self.doc = yaml.safe_load(f)
        responses = self.doc['components']['responses']
        self.everywhere = {'400', '401', '406'}
        self.meaning = {}
        for op in self.operations():
            for status, answer in op[2]['responses'].items():
                if '$ref' in answer:
                    self.meaning[status] = responses[answer['$ref'].rsplit('/', 1)[1]]['description']

    def operations(self):
        for path, item in self.doc['paths'].items():
            for method, op in item.items():
                if method != 'parameters':
                    yield path, method.upper(), op, item.get('parameters', [])

    def find(self, value):
        while '$ref' in value:
            name = value['$ref'].split('/')[1:]
            value = self.doc
            for part in name:
                value = value[part]
        return value

    def operation(self, path, method, op):
        answers = [s for s in op['responses'] if s < '400' or '$ref' not in op['responses'][s]]
        errors = [s for s in op['responses'] if s not in answers and s not in self.everywhere]
        lines = [f'**{method} `{path}`** ({op["x-right"]}): {sentence(op["summary"])} {sentence(op.get("description"))}'.rstrip()]
        query = [self.find(p) for p in op.get('parameters', [])]
        told = [f'`{p["name"]}` {allowed(p["schema"])}'.rstrip() + (f': {sentence(p["description"])[:-1]}' if 'description' in p else '')
                for p in query if p['in'] == 'query']
        if told:
            lines[0] += ' Query: ' + '; '.join(told) + '.'
        example = op.get('x-example', '')
        suffix, flags = (example, '') if example.startswith('?') else ('', f' {example}' if example else '')
        verb = '' if method == 'GET' else f' -X {method}'
        kind = ' -H "$J"' if flags.startswith(' -d') else ''
        address = f'$R{path}'.replace('{', '$').replace('}', '') + suffix
        lines.append(f'`curl{verb}{kind}{flags} "{address}"` → {"/".join(answers)}' +
                     (f'; errors {"/".join(errors)}' if errors else ''))
        return '\n'.join(lines)

    def option(self, name, schema):
        schema = self.find(schema)
        text = sentence(schema.get('description'))
        if 'properties' in schema:
            inner = ', '.join(f'`{k}` {allowed(v)}' for k, v in schema['properties'].items())
            return f'- `{name}`: {text} {inner}'
        return f'- `{name}` {allowed(schema)}'.rstrip() + (f': {text}' if text else '')

    def page(self):
        info, schemas = self.doc['info'], self.doc['components']['schemas']
        out = ['# REST API',
               '`api/openapi_page.py` writes this page out of `api/openapi.yaml`, which every daemon serves as `/openapi.json`. '
               'The schemas of all answers stand there, and what each member of a session means.']
        out += [sentence(p) for p in info['description'].strip().split('\n\n')]
        out.append('## Routes')
        out.append('In brackets: the right that a token needs ([Tokens](#tokens)). In examples R is a daemon\'s address, J `Content-Type: '
                   'application/json`; with tokens each needs `-H "Authorization: Bearer $TOKEN"`. Any route may answer 400, 401 and 406.')
        for tag in self.doc['tags']:
            out.append(f'### {tag["name"].capitalize()}')
            out.append(sentence(tag['description']))
            out += [self.operation(p, m, op) for p, m, op, _ in self.operations() if tag['name'] in op['tags']]
        out.append('## What a session is asked for')
        out.append(f'All members of POST `/v1/sessions` may be left out. {sentence(schemas["SessionOptions"]["description"])}')
        out.append('\n'.join(self.option(n, s) for n, s in schemas['SessionOptions']['properties'].items()))
        out.append('## Errors')
        out.append('```json\n{"type": "urn:recond:problem:invalid-fields", "title": "Fields are wrong", "status": 422,\n'
                   ' "errors": [{"pointer": "/camera/fx", "detail": "must be a number from 1 to 100000"}]}\n```')
        out.append('\n'.join(f'- {status} {sentence(text).replace("urn:recond:problem:", "")}' for status, text in sorted(self.meaning.items())))
        out.append(re.sub(r'docs/(\w+\.md)', r'\1', info['x-notes'].strip()))
        return '\n\n'.join(out) + '\n'


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    page = Contract(sys.argv[1]).page()
    if len(sys.argv) == 3:
        with open(sys.argv[2], 'w', encoding='utf-8') as f:
            f.write(page)
        return
    with open(sys.argv[2], encoding='utf-8') as f:
        for n, (is_, wanted) in enumerate(zip(f.read().split('\n') + [''], page.split('\n') + ['']), 1):
            if is_ != wanted:
                sys.exit(f'{sys.argv[2]}:{n}: is not what api/openapi_page.py writes out of {sys.argv[1]}')


main()
