//go:build e2e && linux

package sandbox_test

import "path/filepath"

var gitWork = []workflow{
	{name: "git init, add, commit", needs: "git", script: `git init -q -b main repo; cd repo; echo 1 >a; git add a; git commit -qm a; git log --format=%an | grep -q Ada`},
	{name: "git branch, merge, rebase, stash", needs: "git", script: `cd repo
git checkout -qb side; echo 2 >b; git add b; git commit -qm b; git checkout -q main; echo 3 >c; git add c; git commit -qm c
git rebase -q side; git checkout -qb more; echo 4 >d; git add d; git commit -qm d; git checkout -q main; git merge -q --no-ff -m merged more
echo 5 >a; git stash -q; git stash pop -q; git checkout -q a`},
	{name: "git worktree", needs: "git", script: `cd repo; git worktree add -q ../linked; cd ../linked; echo 6 >e; git add e; git commit -qm e; git log --format=%s | grep -qx e`},
	{name: "git clone and push", needs: "git", script: `git clone -q --bare repo bare.git; git clone -q bare.git clone; cd clone; echo 7 >f; git add f; git commit -qm f; git push -q origin HEAD; git -C ../bare.git log --format=%s | grep -qx f`},
	{name: "git gc", needs: "git", script: `git -C repo gc -q; git -C repo fsck`},
}

var shellWork = []workflow{
	{name: "mktemp", script: `f=$(mktemp); echo x >"$f"; rm "$f"; d=$(mktemp -d); rmdir "$d"`},
	{name: "here-documents", script: "cat <<END | grep -qx here\nhere\nEND\n"},
	{name: "process substitution", script: `diff <(echo a) <(echo a); echo x | tee >(cat >/dev/null)`},
	{name: "make and cc", needs: "make cc", script: `printf '#include <stdio.h>\nint main(void) { puts("made"); return 0; }\n' >a.c; printf 'a: a.c\n\tcc -g -o a a.c\n' >Makefile; make -s; ./a | grep -qx made`},
	{name: "sqlite3", needs: "sqlite3", script: `sqlite3 data.db 'create table t(x); insert into t values(42);'; sqlite3 data.db 'select x from t' | grep -qx 42`},
	{name: "ps, top, df", needs: "ps top df", script: `ps ax >/dev/null; TERM=dumb top -bn1 >/dev/null; df . >/dev/null`},
	{name: "gdb", needs: "gdb cc", script: `gdb -batch -nx -ex 'break main' -ex run -ex bt ./a 2>&1 | grep -q 'main ()'`},
	{name: "strace", needs: "strace", script: `strace -f -o trace sh -c 'cat /dev/null'; grep -q execve trace`},
	{name: "tmux", needs: "tmux", script: `tmux -f /dev/null new-session -d 'echo hi >tmux.out; tmux wait-for -S done; sleep 60'; tmux wait-for done; grep -qx hi tmux.out; tmux kill-server`},
	{name: "a key of GnuPG", needs: "gpg", script: `gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-gen-key me@example.org ed25519 sign never; echo text | gpg --batch --quiet --clearsign | grep -q 'BEGIN PGP'; gpgconf --kill all`},
	{name: "ssh-keygen and an agent", needs: "ssh-keygen ssh-agent ssh-add", script: `ssh-keygen -q -t ed25519 -N '' -f key; eval "$(ssh-agent)"; ssh-add -q key; ssh-add -l | grep -qi ed25519; ssh-agent -k`},
	{name: "write ~/.config", script: `mkdir -p ~/.config/x; echo 1 >~/.config/x/settings; cat ~/.config/x/settings`},
	{name: "write ~/.local/bin", script: `mkdir -p ~/.local/bin; printf '#!/bin/sh\necho mine\n' >~/.local/bin/mine; chmod +x ~/.local/bin/mine; ~/.local/bin/mine | grep -qx mine`},
	{name: "nohup in the background", script: `nohup sh -c 'echo late >nohup.txt' >/dev/null 2>&1 & wait $!; grep -qx late nohup.txt`},
}

var pythonWork = []workflow{
	{name: "python: venv", needs: "python3", script: `python3 -m venv venv; venv/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'`},
	{name: "python: pip install", needs: "python3", network: "@python", script: `venv/bin/python -m pip install -q --no-cache-dir six; venv/bin/python -c 'import six'`},
	{name: "python: multiprocessing.Pool", needs: "python3", script: "cat >pool.py <<'END'\nfrom multiprocessing import Pool\ndef double(x): return 2 * x\nif __name__ == '__main__':\n    with Pool(2) as p: assert p.map(double, [1, 2, 3]) == [2, 4, 6]\nEND\npython3 pool.py"},
	{name: "python: multiprocessing.Manager", needs: "python3", script: "cat >manager.py <<'END'\nfrom multiprocessing import Manager\nif __name__ == '__main__':\n    with Manager() as m:\n        d = m.dict(); d['x'] = 1; assert d['x'] == 1\nEND\npython3 manager.py"},
	{name: "python: a test with http.server", needs: "python3", script: "cat >test_http.py <<'END'\nimport http.server, threading, unittest, urllib.request\nclass T(unittest.TestCase):\n    def test(self):\n        s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n        threading.Thread(target=s.serve_forever, daemon=True).start()\n        self.assertEqual(urllib.request.urlopen('http://127.0.0.1:%d/' % s.server_port).status, 200)\n        s.shutdown()\nEND\npython3 -m unittest -q test_http"},
	{name: "python: sqlite", needs: "python3", script: `python3 -c 'import sqlite3; c = sqlite3.connect("x.db"); c.execute("create table t(x)"); c.commit()'`},
	{name: "python: asyncio", needs: "python3", script: "python3 - <<'END'\nimport asyncio\nasync def main():\n    s = await asyncio.start_server(lambda r, w: (w.write(b'hi'), w.close()), '127.0.0.1', 0)\n    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n    assert await r.read() == b'hi'\n    p = await asyncio.create_subprocess_exec('true'); assert await p.wait() == 0\nasyncio.run(main())\nEND"},
	{name: "python: a Unix socket", needs: "python3", script: "python3 - <<'END'\nimport os, socket, tempfile\nat = os.path.join(tempfile.mkdtemp(), 's')\nl = socket.socket(socket.AF_UNIX); l.bind(at); l.listen()\nc = socket.socket(socket.AF_UNIX); c.connect(at); c.sendall(b'hi'); a, _ = l.accept(); assert a.recv(2) == b'hi'\nEND"},
	{name: "python: shared memory and semaphores", needs: "python3", script: "python3 - <<'END'\nfrom multiprocessing import Lock, shared_memory\nm = shared_memory.SharedMemory(create=True, size=16); m.buf[0] = 7; m.close(); m.unlink()\nwith Lock(): pass\nEND"},
	{name: "python: urllib to a listed name", needs: "python3", network: "@python", script: "venv/bin/python - <<'END'\nimport os, subprocess, sys, urllib.request\nfrom pip._internal.models.index import PyPI\nurl = subprocess.run([sys.executable, '-m', 'pip', 'config', 'get', 'global.index-url'], capture_output=True, text=True).stdout.strip()\nurl = os.environ.get('PIP_INDEX_URL') or url or PyPI.simple_url\nassert urllib.request.urlopen(url.rstrip('/') + '/six/').status == 200\nEND"},
}

var nodeWork = []workflow{
	{name: "npm install", needs: "npm", network: "@node", script: `npm init -y >/dev/null; npm install --no-audit --no-fund --silent isarray@2.0.5; node -e 'require("isarray")'`},
	{name: "npm test with a server", needs: "npm", script: "cat >test.js <<'END'\nconst s = require('http').createServer((q, a) => a.end('hi')).listen(0, '127.0.0.1', async () => {\n  const r = await fetch('http://127.0.0.1:' + s.address().port); process.exit(await r.text() === 'hi' ? 0 : 1) })\nEND\nnpm pkg set scripts.test='node test.js'; npm test --silent"},
	{name: "npx", needs: "npx", network: "@node", script: `npx --yes semver@7.6.3 1.2.3 | grep -qx 1.2.3`},
	{name: "node: fetch of a listed name, without a proxy", needs: "node npm", network: "@node", reduced: "programs that ignore them reach nothing", script: `url=$(npm config get registry); unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy; node -e 'fetch(process.argv[1] + "isarray").then(r => process.exit(r.ok ? 0 : 1), e => { console.error(e); process.exit(1) })' "$url"`},
}

var goWork = []workflow{
	{name: "go mod tidy and test", needs: "go", network: "@go", script: "cat >go.mod <<'END'\nmodule example.org/x\ngo 1.21\nEND\ncat >x_test.go <<'END'\npackage x\nimport (\n\t\"net\"\n\t\"testing\"\n\n\t\"golang.org/x/mod/semver\"\n)\nfunc Test(t *testing.T) {\n\tl, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\tif err != nil { t.Fatal(err) }\n\tif _, err := net.Dial(\"tcp\", l.Addr().String()); err != nil { t.Fatal(err) }\n\t_ = semver.IsValid(\"v1\")\n}\nEND\necho 'package x' >x.go\nexport CGO_ENABLED=0\ngo mod tidy; go test -vet=off ./..."},
	{name: "go vet", needs: "go", script: `CGO_ENABLED=0 go vet ./...`},
	{name: "go install", needs: "go", script: `mkdir -p hello; printf 'package main\nfunc main() { println("hi") }\n' >hello/main.go; CGO_ENABLED=0 go install ./hello; ~/go/bin/hello 2>&1 | grep -qx hi`},
}

var rustWork = []workflow{
	{name: "cargo build and test", needs: "cargo", network: "@rust", script: "cargo init -q --name x .; cargo add -q itoa; cat >src/main.rs <<'END'\nfn main() { println!(\"{}\", itoa::Buffer::new().format(42)); }\n#[test] fn listens() { let l = std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap(); std::net::TcpStream::connect(l.local_addr().unwrap()).unwrap(); }\nEND\ncargo build -q; cargo test -q"},
}

var javaWork = []workflow{
	{name: "java with a server", needs: "java javac", script: "cat >S.java <<'END'\nimport java.net.*;\npublic class S { public static void main(String[] a) throws Exception { try (ServerSocket s = new ServerSocket(0); Socket c = new Socket(\"localhost\", s.getLocalPort())) { System.out.println(\"connected\"); } } }\nEND\njava S.java | grep -qx connected"},
	{name: "maven", needs: "mvn", network: "@java", script: "export MAVEN_OPTS=\"$MAVEN_OPTS -Duser.home=$HOME\"\nmvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get -Dartifact=junit:junit:4.13 -Dtransitive=false"},
}

var serverWork = []workflow{
	{name: "a server in the background, by its address and its name", needs: "python3 curl", script: `python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &
for url in http://127.0.0.1:8123/ http://localhost:8123/; do for i in $(seq 300); do ! curl -sf -o /dev/null $url || break; sleep 0.1; done; curl -sf -o /dev/null $url; done`},
	{name: "postgres", needs: "initdb psql", reduced: "no PostgreSQL inside", script: `bin=$(dirname "$(readlink -f "$(command -v initdb)")"); export LC_ALL=C.UTF-8
initdb -D pg -N -A trust -U me >/dev/null; "$bin/pg_ctl" -D pg -w -o "-F -k /tmp -h ''" -l pg.log start >/dev/null; psql -h /tmp -U me -Atc 'select 6*7' postgres | grep -qx 42; "$bin/pg_ctl" -D pg -m fast stop >/dev/null`},
	{name: "chromium without its own sandbox", needs: "chromium", script: `chromium --headless --no-sandbox --disable-gpu --dump-dom 'data:text/html,<p>hello</p>' | grep -q hello`},
	{name: "a debugger on a running process", needs: "gdb", script: `sleep 60 & gdb -batch -nx -p $! -ex 'info proc' 2>&1 | grep -q process; kill %1`},
	{name: "find, patch and tar", needs: "patch tar", script: `echo a >old; echo b >new; ! diff -u old new >change; patch -s old <change; cmp old new; tar czf all.tgz old new; mkdir out; tar xzf all.tgz -C out; find out -name new | grep -q new`},
}

func closedWork(w *world) []workflow {
	sibling := filepath.Join(w.home, "src", "sibling", "main.go")
	return []workflow{
		{name: "edit a sibling project", script: "sed -i s/x/y/ " + sibling, closed: "Another project"},
		{name: "the user's SSH agent", script: "SSH_AUTH_SOCK=" + w.agent + " ssh-add -l", closed: "Your SSH agent"},
		{name: "docker", script: "curl -sS --unix-socket " + w.run + "/docker.sock http://docker/version", closed: "Docker"},
		{name: "sudo", script: "sudo -n true", closed: "`sudo`"},
		{name: "a user namespace", script: "unshare -Ur true", closed: "`unshare`"},
	}
}
