package schema

import (
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

const versionMember = "schema_version"

// editor changes the text of a file, in one object at a time. After an error it does
// nothing more.
type editor struct {
	doc      *jsonedit.Doc
	to       Release
	path     []string // of the object
	versions []Version
	lost     []Loss
	err      error

	unlisted bool // switch_llm is not in the list of tools, and a switch of ours says so
}

func (e *editor) result() (Result, error) {
	return Result{Doc: e.doc, Versions: e.versions, Lost: e.lost}, e.err
}

// object is the object that is worked on.
func (e *editor) object() jsonedit.Value { return e.doc.Root().At(e.path...) }

func (e *editor) get(path ...string) jsonedit.Value { return e.object().At(path...) }

func (e *editor) text(path ...string) string {
	text, _ := e.get(path...).Text()
	return text
}

func (e *editor) full(path ...string) []string {
	return append(e.path[:len(e.path):len(e.path)], path...)
}

func (e *editor) name(path ...string) string { return strings.Join(e.full(path...), ".") }

func (e *editor) set(raw []byte, path ...string) {
	e.change(func() (*jsonedit.Doc, error) { return e.doc.Set(raw, e.full(path...)...) })
}

func (e *editor) delete(path ...string) {
	if e.get(path...).Exists() {
		e.change(func() (*jsonedit.Doc, error) { return e.doc.Delete(e.full(path...)...) })
	}
}

func (e *editor) change(edit func() (*jsonedit.Doc, error)) {
	if e.err != nil {
		return
	}
	if doc, err := edit(); err != nil {
		e.err = err
	} else {
		e.doc = doc
	}
}

func (e *editor) fail(msg string, path ...string) {
	if e.err == nil {
		e.err = &FieldError{e.name(path...), msg}
	}
}

func (e *editor) lose(why string, path ...string) {
	e.lost = append(e.lost, Loss{e.name(path...), why})
}

// within works on an object in this one, if there is such an object.
func (e *editor) within(name string, work func(*editor)) {
	if e.get(name).Kind() != jsonedit.Object {
		return
	}
	outer := e.path
	e.path = e.full(name)
	work(e)
	e.path = outer
}

// number reads the schema number of the object, and refuses a newer one than known;
// missing is what none stands for.
func (e *editor) number(missing, known int64) int64 {
	v := e.get(versionMember)
	if v.Kind() == jsonedit.Missing || v.Kind() == jsonedit.Null {
		return missing
	}
	n, ok := v.Int()
	switch {
	case !ok:
		e.fail("is not an integer", versionMember)
	case n > known && e.err == nil:
		e.err = &NewerError{e.name(versionMember), n, known}
	}
	return n
}

// walk takes the steps from the number that the object has to another one.
func (e *editor) walk(steps []step, to, missing int64) {
	from := e.number(missing, int64(len(steps)))
	if from < 0 {
		e.fail("is negative", versionMember)
	}
	for n := from; n < to && e.err == nil; n++ {
		if up := steps[n].up; up != nil {
			up(e)
		}
	}
	for n := from; n > to && e.err == nil; n-- {
		if down := steps[n-1].down; down != nil {
			down(e)
		}
	}
	e.stamp(to, int64(len(steps)))
}

// stamp sets the schema number, or removes it from an object that has none in the
// release.
func (e *editor) stamp(to, known int64) {
	v := Version{Entry: strings.Join(append([]string{"$"}, e.path...), ".")}
	if n, ok := e.get(versionMember).Int(); ok {
		v.Before = &n
		if n > known && e.err == nil {
			e.err = &NewerError{e.name(versionMember), n, known}
		}
	}
	if to == 0 {
		e.delete(versionMember)
	} else {
		v.After = &to
		if v.Before == nil || *v.Before != to {
			e.set(strconv.AppendInt(nil, to, 10), versionMember)
		}
	}
	e.versions = append(e.versions, v)
}
