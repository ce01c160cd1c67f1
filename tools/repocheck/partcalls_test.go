package repocheck_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// doors are the methods by which others change a part of a conversation. What else changes
// it is called by the part alone. The lists may only become shorter. A method that makes
// something when it is first asked for, such as agent.offers, changes its part, too.
var doors = map[string][]string{
	"door": {
		"admit", "breakDown", "closeFor", "delivered", "dropRequest", "leaveUnanswered", "lose", "next",
		"nextErrand", "nextShortening", "queueErrand", "queueShortening", "receive", "refuseInbox",
		"requestRun",
	},
	"live":    {"beginRun", "blocked", "end", "endRun", "explainBy", "open", "refused"},
	"shelf":   {"drop", "keep", "load"},
	"notices": {"add", "take"},
	"lease":   {"hold", "renew", "rest"},
	"branch": {
		"answerOpen", "answerWith", "append", "appendAs", "blockAction", "blocked", "catchUp", "changed",
		"confirm", "counted", "entitle", "failUnstored", "finishReplied", "fit", "forgetEvents",
		"hidePictures", "invoked", "load", "navigate", "notifyAgent", "observe", "pause", "postponeSummary",
		"received", "refusePictures", "reject", "rejectBlocked", "repair", "replace", "reread", "save",
		"setStatus", "settled", "showTo", "spent", "spentElsewhere", "storeSecrets",
		"stored", "tag", "toolError", "update", "updateStats", "userMessage", "watch",
	},
	"agent": {
		"calibrate", "counted", "equip", "fitPrompt", "fixed", "introduce", "leaveOut", "offers",
		"promptTokens", "refreshTools", "setModel", "use", "weight",
	},
	"run": {
		"await", "beginWork", "decide", "failed", "keepLease", "pause", "queue", "ready", "shorten", "stop",
		"suspend", "take", "toEnd",
	},
	"pursuit": {"advance", "begin", "leave"},
}

// Others do not reach into a part: they call a method of it that says what has happened,
// and those that change it are few and have names here.
func TestPartsOfAConversationAreChangedThroughTheirDoors(t *testing.T) {
	t.Parallel()
	const dir, whole = "agentapi/engine/conversation", "Conversation"
	house := &houseImporter{groups: packages(t), tree: "agentapi", made: map[string]*types.Package{}}
	found, used := foreignCalls(house, dir, whole)
	for _, call := range found {
		t.Error(call)
	}
	for part, names := range doors {
		for _, name := range names {
			if !used[part+"."+name] {
				t.Errorf("no other part calls %s.%s, or it changes nothing; take it out of the list of doors", part, name)
			}
		}
	}
}

// foreignCalls are the calls from outside of a part that change it or something in it, but
// for those of its doors, which are used.
func foreignCalls(house *houseImporter, dir, whole string) (found []string, used map[string]bool) {
	w := &writers{house: house, infos: map[string]*types.Info{}, known: map[string]bool{}, used: map[string]bool{}}
	info := w.info(dir)
	w.parts = partsOf(w.pkg, whole)
	for _, s := range house.groups[dir] {
		for _, decl := range s.tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			owner := ""
			if f.Recv != nil {
				owner = receiver(f)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if wrong := w.foreign(n, owner, info); wrong != "" {
					found = append(found, fmt.Sprintf("%s:%d: %s %s", s.name, s.line(n.Pos()), f.Name.Name, wrong))
				}
				return true
			})
		}
	}
	return found, w.used
}

// writers knows which methods of the house change their receiver, or something in it.
type writers struct {
	house *houseImporter
	pkg   *types.Package
	infos map[string]*types.Info
	parts []string
	known map[string]bool // methods that do; of others nothing is known
	used  map[string]bool // doors
}

// foreign says what is wrong with a call in a method of owner; "" for nothing.
func (w *writers) foreign(n ast.Node, owner string, info *types.Info) string {
	selector, method := called(n, info)
	if method == nil || !w.writes(method, map[*types.Func]bool{}) {
		return ""
	}
	part := nameOf(info.Selections[selector].Recv())
	if slices.Contains(w.parts, part) {
		if part == owner {
			return ""
		}
		w.used[part+"."+method.Name()] = true
		if slices.Contains(doors[part], method.Name()) {
			return ""
		}
		return fmt.Sprintf("changes %s by %s, which is not one of its doors", part, method.Name())
	}
	if part, field := partWritten(selector.X, info, w.parts); part != "" && part != owner {
		return fmt.Sprintf("reaches into %s.%s and calls %s, which changes it; make that a method of %s", part, field, method.Name(), part)
	}
	return ""
}

// called is the method that a node calls, and its selector; nil for none.
func called(n ast.Node, info *types.Info) (*ast.SelectorExpr, *types.Func) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil, nil
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, nil
	}
	s := info.Selections[selector]
	if s == nil || s.Kind() != types.MethodVal {
		return nil, nil
	}
	method, _ := s.Obj().(*types.Func)
	return selector, method
}

// nameOf is the name of a named type, or of the one a pointer leads to.
func nameOf(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// info has the types of a package of the house.
func (w *writers) info(dir string) *types.Info {
	if w.infos[dir] == nil {
		w.infos[dir] = &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
		pkg := checkedWith(w.house.groups[dir], w.infos[dir], w.house)
		if w.pkg == nil {
			w.pkg = pkg
		}
	}
	return w.infos[dir]
}

// writes reports whether a method changes its receiver: it assigns to a field, or calls a
// method that does on the receiver or on something in it. What is outside of the house
// changes nothing.
func (w *writers) writes(method *types.Func, asked map[*types.Func]bool) bool {
	if method.Pkg() == nil || asked[method] {
		return false
	}
	dir, of := method.Pkg().Path(), nameOf(method.Signature().Recv().Type())
	key := dir + "." + of + "." + method.Name()
	if w.known[key] {
		return true
	}
	asked[method] = true
	for _, s := range w.house.groups[dir] {
		for _, decl := range s.tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv != nil && f.Name.Name == method.Name() && receiver(f) == of && w.changes(dir, f, asked) {
				w.known[key] = true
				return true
			}
		}
	}
	return false
}

func (w *writers) changes(dir string, f *ast.FuncDecl, asked map[*types.Func]bool) (found bool) {
	if len(f.Recv.List[0].Names) == 0 || f.Body == nil {
		return false
	}
	self := f.Recv.List[0].Names[0].Name
	_, pointer := f.Recv.List[0].Type.(*ast.StarExpr)
	info := w.info(dir)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		for _, target := range append(written(n), emptied(n)...) {
			if _, variable := target.(*ast.Ident); target == nil || variable || found {
				continue
			}
			found = isBase(target, self) && (pointer || !plain(target))
		}
		if selector, method := called(n, info); method != nil && !found && isBase(selector.X, self) {
			found = w.writes(method, asked)
		}
		return !found
	})
	return found
}

func isBase(e ast.Expr, name string) bool {
	id := base(e)
	return id != nil && id.Name == name
}

// plain reports whether x.y.z has only selectors: in a method of a value, such a field is
// that of a copy.
func plain(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return true
		case *ast.SelectorExpr:
			e = x.X
		default:
			return false
		}
	}
}

func TestForeignCallsAreFound(t *testing.T) {
	t.Parallel()
	const text = `package p
type Whole struct { door *door; run *run }
type door struct { n int; list list; m keys }
type run struct { door *door; n int }
type list struct { all []int; other *list }
type keys map[string]bool
func (d *door) set() { d.n = 1 }
func (d *door) also() { d.set() }
func (d *door) put() { d.list.add(1) }
func (d *door) get() int { n := d.n; n++; return n + len(d.list.all) }
func (l *list) add(n int) { l.all = append(l.all, n) }
func (l *list) one() { l.two() }
func (l *list) two() { l.one(); l.add(2) }
func (l list) copied() list { l.all = nil; return l }
func (k keys) mark() { k["x"] = true }
func (r *run) own() { r.n++ }
`
	for body, want := range map[string]int{
		"r.door.set()":            1,
		"r.door.also()":           1,
		"r.door.put()":            1,
		"r.door.get()":            0,
		"r.own()":                 0,
		"r.door.list.add(1)":      1,
		"r.door.list.one()":       1,
		"r.door.list.two()":       1,
		"r.door.list.copied()":    0,
		"r.door.m.mark()":         1,
		"d := r.door; d.set()":    1,
		"func() { r.door.set() }": 1,

		"var d door; d.list.add(len(d.list.all))": 1,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "", text+"func (r *run) f() {\n"+strings.Replace(body, "func() {", "_ = func() {", 1)+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("the source %q: %v", body, err)
		}
		groups := map[string][]source{"p": {{dir: "p", set: set, tree: tree}}}
		found, _ := foreignCalls(&houseImporter{groups: groups, tree: "p", made: map[string]*types.Package{}}, "p", "Whole")
		if len(found) != want {
			t.Errorf("foreign calls in %q: %s; want %d", body, strings.Join(found, ", "), want)
		}
	}
}
