package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// slept are the files whose tests sleep by the real clock, with how often. The numbers only
// go down: a test that waits for something asks for it (waittest.Until) or runs in a bubble of
// synctest, where a sleep takes no time.
var slept = map[string]int{
	"agentapi/backendtest/fakeserver/agent.go":    1, // the pauses of an agent, which end with the request
	"agentapi/engine/idle_test.go":                1, // in the bubbles of its users
	"agentapi/engine/interop_server_e2e_test.go":  1, // events count as all if they are the same a moment later
	"agentapi/engine/tool/terminal/bench_test.go": 1, // samples the memory until the output ends
	"agentapi/engine/tool/mcp/mcp_test.go":        1, // the process of a server that does not answer
	"cli/canary_e2e_test.go":                      1, // samples the processes until the test ends
	"daemon/completions/samples_test.go":          3, // slow answers and random pauses
	"daemon/daemontest/script.go":                 1, // the pauses of a scripted agent, which end with the run
	"daemon/run/fake_test.go":                     1, // in the bubbles of its users
	"daemon/run/oneshot_test.go":                  1, // in the bubbles of its users
	"e2e/differential/differential_test.go":       1, // the agent-server writes its statistics after the status
	"e2e/outside_test.go":                         4, // benchmarks of memory after a while without work
	"e2e/soak/soak_test.go":                       1, // a usage counts as settled if it is the same a second later
	"e2e/soak/world_test.go":                      1, // the program reads the clock that was moved
	"e2e/sockets_test.go":                         2, // a benchmark with the pace of an LLM, which samples the memory
	"e2e/terminal/bench_test.go":                  1, // a benchmark with the pace of a typist
	"e2e/terminal/doing_test.go":                  1, // keys as slow as a user's, unlike those of a mouse wheel
	"e2e/terminal/terminal_test.go":               1, // a screen counts as still if it is the same a moment later
	"internal/profile/server_e2e_test.go":         1, // reads that leave the writers some of the machine
	"internal/testkit/llmtest/chat.go":            1, // the pauses of an LLM, which end with the request
	"internal/testkit/processtest/processtest.go": 1, // a poll that sees the end of its process at once
	"internal/testkit/waittest/until.go":          1, // the pause of all polls
	"tui/harness_test.go":                         1, // in the bubbles of its users
	"tui/run_test.go":                             1, // a real terminal on a slow line
}

// clocks are the functions of package time that a poll can be made with. The case of a select
// for time.After is mostly a limit and is looked at by itself.
var clocks = []string{"time.Sleep", "time.Tick", "time.NewTicker", "time.NewTimer"}

func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	dirs := map[string][]source{}
	for _, s := range sources(t) {
		dirs[s.dir] = append(dirs[s.dir], s)
	}
	found := map[string]int{}
	for _, group := range dirs {
		maps.Copy(found, sleeps(group))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch n, known := found[name], slept[name]; {
		case n > known:
			t.Errorf("tests of %s sleep %d times by the real clock, and %d are known; wait with waittest.Until or run in synctest.Test", name, n, known)
		case n < known:
			t.Errorf("tests of %s sleep only %d times; lower its number in the list of slept", name, n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(slept)) {
		if found[name] == 0 {
			t.Errorf("tests of %s do not sleep; take it out of the list of slept", name)
		}
	}
}

// sleeps counts the sleeps by the real clock in the tests of one directory, for each file that
// has any.
func sleeps(group []source) map[string]int {
	begin, inside := bubbles(group)
	counts := map[string]int{}
	for _, s := range group {
		if !s.forTests() {
			continue
		}
		for _, f := range functions(s) {
			if inside[key(f)] {
				continue
			}
			loops := 0
			var look func(n ast.Node) bool
			look = func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ForStmt:
					loops++
					for _, part := range []ast.Node{n.Init, n.Cond, n.Post, n.Body} {
						if part != nil {
							ast.Inspect(part, look)
						}
					}
					loops--
					return false
				case *ast.FuncLit: // what happens in the bubble that this function begins
					return !begin[key(f)]
				case *ast.CommClause: // a case that does something, or that is in no loop, is a limit
					if isAfter(n.Comm) && len(n.Body) == 0 && loops > 0 {
						counts[s.name]++
					}
					for _, stmt := range n.Body {
						ast.Inspect(stmt, look)
					}
					return false
				case *ast.ExprStmt:
					if isAfter(n) {
						counts[s.name]++
					}
				case *ast.CallExpr:
					if slices.Contains(clocks, code(n.Fun)) {
						counts[s.name]++
					}
				}
				return true
			}
			ast.Inspect(f.Body, look)
		}
	}
	return counts
}

// isAfter reports whether a statement only waits for time.After.
func isAfter(stmt ast.Stmt) bool {
	waits, ok := stmt.(*ast.ExprStmt)
	if !ok {
		return false
	}
	receive, ok := waits.X.(*ast.UnaryExpr)
	if !ok {
		return false
	}
	call, ok := receive.X.(*ast.CallExpr)
	return ok && code(call.Fun) == "time.After"
}

// functions are the functions and methods of a file that have a body.
func functions(s source) (list []*ast.FuncDecl) {
	for _, decl := range s.tree.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			list = append(list, f)
		}
	}
	return list
}

// key is the name of a function, or that of a method behind a dot.
func key(f *ast.FuncDecl) string {
	if f.Recv != nil {
		return "." + f.Name.Name
	}
	return f.Name.Name
}

// bubbles are the keys of the functions that begin a bubble of synctest, and of those that
// run in one. The former call synctest.Test, or a function that does. The latter are methods
// that call synctest.Wait, which panics elsewhere, and what only functions of both kinds use.
func bubbles(group []source) (begin, inside map[string]bool) {
	begin, inside = map[string]bool{}, map[string]bool{}
	users := map[string]map[string]bool{} // of each key
	for _, s := range group {
		for _, f := range functions(s) {
			user := key(f)
			for name := range uses(f.Body) {
				begin[user] = begin[user] || name == "synctest.Test"
				inside[user] = inside[user] || name == "synctest.Wait" && f.Recv != nil
				if users[name] == nil {
					users[name] = map[string]bool{}
				}
				users[name][user] = true
			}
		}
	}
	for again := true; again; {
		again = false
		for name, by := range users {
			for user := range by {
				if begin[name] && !begin[user] {
					begin[user], again = true, true
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for name, by := range users {
			if inside[name] || begin[name] || ast.IsExported(strings.TrimPrefix(name, ".")) {
				continue
			}
			outside := slices.ContainsFunc(slices.Collect(maps.Keys(by)), func(user string) bool {
				return user != name && !begin[user] && !inside[user]
			})
			if !outside {
				inside[name], again = true, true
			}
		}
	}
	return begin, inside
}

// uses are the names in a function: x for x, and for x.y also .y and x.y.
func uses(body ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			names["."+n.Sel.Name] = true
			if x, ok := n.X.(*ast.Ident); ok {
				names[x.Name+"."+n.Sel.Name] = true
			}
			maps.Copy(names, uses(n.X))
			return false
		case *ast.Ident:
			names[n.Name] = true
		}
		return true
	})
	return names
}

func TestSleepsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"func TestA(t *testing.T) { time.Sleep(1) }":                                                                           1,
		"func TestA(t *testing.T) { for !ok() { time.Sleep(1) } }":                                                             1,
		"func TestA(t *testing.T) { go func() { time.Sleep(1) }() }":                                                           1,
		"func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }":                                  0,
		"func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) {}); time.Sleep(1) }":                                  1,
		"func bubble(f func()) { synctest.Test(t, f) }\nfunc TestA(t *testing.T) { bubble(func() { time.Sleep(1) }) }":         0,
		"func nap() { time.Sleep(1) }\nfunc TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { nap() }) }":            0,
		"func nap() { time.Sleep(1) }\nfunc TestA(t *testing.T) { nap() }":                                                     1,
		"func TestA(t *testing.T) { <-time.After(1) }":                                                                         1,
		"func TestA(t *testing.T) { for !ok() { select { case <-time.After(1): case <-ctx.Done(): return } } }":                1,
		"func TestA(t *testing.T) { for { select { case <-came: case <-time.After(1): t.Fatal() } } }":                         0,
		"func TestA(t *testing.T) { select { case <-came: case <-time.After(1): } }":                                           0,
		"func (w *w) settle() { time.Sleep(1); synctest.Wait() }":                                                              0,
		"func nap() { time.Sleep(1) }\nfunc TestA(t *testing.T) { nap() }\nfunc TestB(t *testing.T) { synctest.Test(t, nap) }": 1,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "", "package p\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("the source %q: %v", text, err)
		}
		if got := sleeps([]source{{name: "x_test.go", test: true, set: set, tree: tree}})["x_test.go"]; got != want {
			t.Errorf("sleeps in %q: %d, want %d", text, got, want)
		}
	}
}
