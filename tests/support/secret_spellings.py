"""Commands that contain a secret, in the syntax of various shells and programs, and harmless look-alikes."""

import json
import shlex
from collections.abc import Callable

PARTS = ("hunter2", "swordfish")
"""The parts of every secret, none of which may remain."""
SECRETS = [
    "hunter2-swordfish-9zQ", "hunter2 swordfish", "hun'ter2\"hunter2$swordfish", "hunter2=swordfish",
    "hunter2;swordfish|x", "-hunter2swordfish", "hunter2\nswordfish", "hunter2`swordfish", "hunter2)swordfish",
    "hunter2\\swordfish", "{hunter2:swordfish", "hunter2&swordfish=1", "hunter2,swordfish", "hunter2@swordfish/x",
    "<hunter2>",
]  # fmt: skip
URL_SAFE = ["hunter2-swordfish-9zQ", "hunter2%20swordfish", "hunter2swordfish"]
Spelling = Callable[[str], str]
_q = shlex.quote

COMMANDS: dict[str, Spelling] = {
    "option with =": lambda s: f"python t.py --token={_q(s)} --lr 3",
    "option, then value": lambda s: f"python t.py --hf-token {_q(s)} --lr 3",
    "option with _": lambda s: f"python t.py --api_key={_q(s)}",
    "option, then a line": lambda s: f"python x --token \\\n{_q(s)}",
    "plural option": lambda s: f"python x --secrets {_q(s)} --max-tokens 5",
    "doubtful option": lambda s: f"python y --auth {_q('me:' + s)}",
    "variable": lambda s: f"MY_API_KEY={_q(s)} python x.py",
    "variable in one word": lambda s: f"PGPASSWORD={_q(s)} psql",
    "variable in two quotes": lambda s: f"HF_TOKEN=a{_q(s)} python",
    "env": lambda s: f"env A=1 DB_PASSWORD={_q(s)} python x",
    "export": lambda s: f"export HF_TOKEN={_q(s)}; python y",
    "declare": lambda s: f"declare -x WANDB_API_KEY={_q(s)}&&python y",
    "csh": lambda s: f"setenv TOKEN {_q(s)}",
    "subshell": lambda s: f"(cd x;TOKEN={_q(s)} python y)",
    "if": lambda s: f"if true; then TOKEN={_q(s)} python y; fi",
    "nsys": lambda s: f"nsys profile -e API_TOKEN={_q(s)},B=2 python x",
    "docker -e": lambda s: f"docker run -e HF_TOKEN={_q(s)} img python x",
    "docker --env": lambda s: f"docker run --env=HF_TOKEN={_q(s)} img",
    "java": lambda s: f"java -Ddb.password={_q(s)} X",
    "Hydra": lambda s: f"python x trainer.wandb.api_key={_q(s)} lr=3",
    "JSON": lambda s: "python x --cfg " + _q(json.dumps({"lr": 1, "nested": [{"api_key": s}]})),
    "here-document": lambda s: f"cat <<EOF\nhi {s}\nEOF\npython x",
    "quoted here-document": lambda s: f"cat <<-'END' > f\n\t{s}\n\tEND\npython x",
    "here-string": lambda s: f"python x <<< {_q(s)}",
    "echo": lambda s: f"timeout 5 echo {_q(s)} | docker login --password-stdin",
    "printf": lambda s: f"printf '%s' {_q(s)}|tee x",
    "login": lambda s: f"wandb login {_q(s)}",
    "curl -H": lambda s: "curl -H " + _q("Authorization: Basic " + s) + " http://h",
    "curl --header": lambda s: f"curl --header={_q('Authorization: Bearer ' + s)}",
    "curl, other header": lambda s: "curl -H " + _q("X-Api-Key: " + s),
    "curl -u": lambda s: f"curl -u {_q('me:' + s)} http://h",
    "--user": lambda s: f"python x --user me:{_q(s)}",
    "sshpass": lambda s: f"sshpass -p {_q(s)} ssh h",
    "mysql": lambda s: f"mysql -u me -p{_q(s)} db",
    "git config": lambda s: f"git config user.password {_q(s)}",
    "aws configure": lambda s: f"aws configure set aws_secret_access_key {_q(s)}",
    "command in a variable": lambda s: f"TOKEN=$(echo {_q(s)}) python x",
    "quoted command in a variable": lambda s: f'TOKEN="$(echo {_q(s)})" python x',
    "command in an option": lambda s: f"python x --token $(echo {_q(s)}) --lr 3",
    "backticks": lambda s: f"python x --token `echo {_q(s)}` -q",
    "Python, environ": lambda s: "python -c " + _q(f"import os; os.environ['HF_TOKEN'] = {s!r}; print(1)"),
    "Python, setdefault": lambda s: "python -c " + _q(f'import os; os.environ.setdefault("HF_TOKEN", {s!r})'),
    "Python, keyword": lambda s: "python -c " + _q(f"login(token={s!r}, x=2)"),
    "Python, dictionary": lambda s: "python -c " + _q(f"cfg = {{'password': {s!r}, 'a': 1}}"),
}

IN_ADDRESSES: dict[str, Spelling] = {
    "password": lambda s: f"python x https://u:{s}@h/p?x=1",
    "token for a user": lambda s: f"git clone https://{s}@h/r",
    "variable": lambda s: f"DATABASE_URL=postgres://u:{s}@h/db python x",
    "query": lambda s: f"python x 'https://h/p?x=1&token={s}&y=2'",
    "first in a query": lambda s: f"python x https://h/?access_token={s}",
    "signature": lambda s: f"python x --url=https://h/?sig={s}",
    "Amazon's": lambda s: f"curl 'https://h?X-Amz-Signature={s}'",
}

WRAPPED = [
    "bash -c {}", "bash -lc {}", "ssh host {}", "sudo sh -c {} --flag", "srun -n 4 bash -c {}", "tmux new -d {}",
    "env A=1 bash -c {}", "su - me --command={}", "docker run img sh -c {}",
]  # fmt: skip

HARMLESS = [
    "python train.py --tokens 4096 --max-tokens=512 --num-tokens 5 --tokenizer gpt2 --max_new_tokens 64",
    "python train.py --key-frames 3 --auth-mode none --num-key-value-heads 8 --pad-token <pad> --eos-token-id 2",
    "python -m pkg.tokenize --author me --keyboard us --monkey 1",
    "TOKENIZERS_PARALLELISM=false MAX_TOKENS=512 python x.py",
    "torchrun --nproc-per-node 8 train.py trainer.max_steps=100 model.n_heads=12",
    "nsys profile -t cuda,nvtx -o out python train.py",
    "void cub::DeviceRadixSortOnesweepKernel<Policy, (bool)0, KeyT, ValueT>(KeyT *, ValueT *)",
    "tokenizer.py(30): encode", "auth.py(30): login", "token generation, step 3", "wait for the login page",
    "batch tokens=4096", "forward pass 2", "git clone https://example.org/repo.git",
]  # fmt: skip
