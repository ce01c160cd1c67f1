package event_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/event"
)

// bodies are one body of every kind that the package knows.
func bodies() []event.Body {
	return []event.Body{
		&event.Message{}, &event.Action{}, &event.Observation{}, &event.AgentError{}, &event.UserReject{},
		&event.ConversationError{}, &event.StateUpdate{}, &event.Delta{}, &event.ServerError{}, &event.SystemPrompt{},
		&event.Condensation{}, &event.CondensationRequest{}, &event.CondensationSummary{}, &event.Pause{}, &event.Interrupt{}, &event.HookExecution{},
		&event.SecurityAnalysis{},
	}
}

// bodyTypes are the names of the package's types that are bodies, as its source
// declares them.
func bodyTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "body.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "Kind" {
			continue
		}
		star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
		if !ok {
			t.Fatalf("a receiver of Kind is no pointer: %T", f.Recv.List[0].Type)
		}
		names = append(names, star.X.(*ast.Ident).Name)
	}
	return names
}

func TestEveryKindIsChecked(t *testing.T) {
	t.Parallel()
	want := slices.DeleteFunc(bodyTypes(t), func(name string) bool { return name == "Unknown" })
	got := make([]string, 0, len(want))
	for _, b := range bodies() {
		got = append(got, reflect.TypeOf(b).Elem().Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("types of bodies in body.go, and those that bodies() has (-source +test):\n%s", diff)
	}
}

func TestEveryKindSurvivesARoundTripAsItsKind(t *testing.T) {
	t.Parallel()
	for _, empty := range bodies() {
		t.Run(empty.Kind(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				made := reflect.New(reflect.TypeOf(empty).Elem())
				fill(t, made.Elem())
				want := made.Interface().(event.Body)
				data, err := json.Marshal(event.New("id", "now", event.SourceAgent, "parent", want))
				if err != nil {
					t.Fatal(err)
				}
				var got event.Event
				if err := json.Unmarshal(data, &got); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				if diff := cmp.Diff(want, got.Body); diff != "" {
					t.Fatalf("%s (-written +read):\n%s", data, diff)
				}
			})
		})
	}
}

// fill gives every field of a body some value that its form has room for.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{"a":[1,null]}`, `"text"`, `7`}).Draw(t, "json")))
		return
	case event.Content:
		item := event.Text(text(t))
		if rapid.Bool().Draw(t, "image") {
			item = event.Images(text(t))
		}
		v.Set(reflect.ValueOf(item))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int:
		v.SetInt(int64(rapid.IntRange(-9, 9).Draw(t, "int")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(0, 1).Draw(t, "float"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value)
		v.SetMapIndex(reflect.ValueOf(text(t)), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") == "-" { // it stays in this process
				continue
			}
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("fill knows no %s", v.Type())
	}
}

func text(t *rapid.T) string {
	return strings.ToValidUTF8(rapid.String().Draw(t, "text"), "") + "x"
}
