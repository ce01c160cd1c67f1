package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/rescue"
)

const (
	maxHead  = 64 << 10 // bytes of front matter
	maxNodes = 5000     // values in it, aliases expanded
	maxDepth = 50
)

// node is a value of the front matter and the line it is on.
type node struct {
	line  int
	value any // nil, a bool, int64, float64, string, []*node or []member
}

type member struct {
	name  string
	line  int
	value *node
}

// headError is a front matter that cannot be used.
type headError struct {
	line      int
	msg, hint string
}

func (e *headError) Error() string { return e.msg }

// parseHead reads the YAML of a front matter. Lines are counted from 1. Nil: it
// is empty, or no mapping.
func parseHead(head []byte) ([]member, error) {
	if len(head) > maxHead {
		return nil, &headError{1, fmt.Sprintf("the front matter is larger than %d bytes", maxHead), "move the text below the front matter"}
	}
	if line := tooDeep(head); line > 0 {
		return nil, tooNested(line)
	}
	var file *ast.File
	err := rescue.Do(func() (err error) {
		file, err = parser.ParseBytes(head, 0, parser.AllowDuplicateMapKey())
		return err
	})
	if err != nil {
		return nil, yamlError(err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, nil
	}
	w := walker{anchors: make(map[string]ast.Node)}
	n, err := w.node(file.Docs[0].Body, 0)
	if err != nil {
		return nil, err
	}
	members, _ := n.value.([]member)
	return members, nil
}

// tooDeep finds the line on which brackets, or the dashes of lists on one line, are
// nested so deeply that parsing them would take long; 0: none.
func tooDeep(head []byte) int {
	depth, dashes, line := 0, 0, 1
	for _, c := range head {
		switch c {
		case '\n':
			line++
			dashes = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?':
			dashes++
		case ' ':
		default:
			dashes = 0
		}
		if depth > 2*maxDepth || dashes > 4*maxDepth {
			return line
		}
	}
	return 0
}

func tooNested(line int) error {
	return &headError{line, "the front matter is nested too deeply", "write the front matter as a flat list of fields"}
}

var place = pattern.Of(`^\[(\d+):\d+\] `)

// yamlError returns what a parser says, with the line, without the excerpt it prints.
func yamlError(err error) error {
	e := &headError{line: 1, hint: "correct the front matter; a text with a colon needs quotes"}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if at := place().FindStringSubmatch(text); at != nil {
		e.line, _ = strconv.Atoi(at[1]) // digits
		text = text[len(at[0]):]
	}
	e.msg = "the front matter is not valid YAML: " + text
	return e
}

type walker struct {
	anchors map[string]ast.Node
	count   int
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// node turns a node of the parser into one of ours.
func (w *walker) node(n ast.Node, depth int) (*node, error) {
	if n == nil {
		return &node{line: 1}, nil
	}
	line := lineOf(n)
	if depth > maxDepth {
		return nil, tooNested(line)
	}
	if w.count++; w.count > maxNodes {
		return nil, &headError{line, fmt.Sprintf("the front matter has more than %d values", maxNodes), "remove aliases (*name) from the front matter"}
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		if n.Name != nil {
			w.anchors[n.Name.GetToken().Value] = n.Value
		}
		return w.node(n.Value, depth+1)
	case *ast.AliasNode:
		target, ok := w.anchors[n.Value.GetToken().Value]
		if !ok {
			return nil, &headError{line, fmt.Sprintf("the alias *%s has no anchor", n.Value.GetToken().Value), "write the value instead of the alias"}
		}
		value, err := w.node(target, depth+1)
		if bad, ok := errors.AsType[*headError](err); ok {
			bad.line = line // where it is used
		}
		return value, err
	case *ast.TagNode:
		return w.tagged(n, depth)
	case *ast.SequenceNode:
		list := make([]*node, 0, len(n.Values))
		for _, v := range n.Values {
			item, err := w.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return &node{line, list}, nil
	case *ast.MappingNode:
		return w.mapping(line, n.Values, depth)
	case *ast.MappingValueNode:
		return w.mapping(line, []*ast.MappingValueNode{n}, depth)
	}
	return &node{line, scalar(n)}, nil
}

// tagged is a value with a tag. Those of YAML itself are kept as they are written.
func (w *walker) tagged(n *ast.TagNode, depth int) (*node, error) {
	tag := n.Start.Value
	switch token.ReservedTagKeyword(tag) {
	case token.StringTag:
		if s, ok := n.Value.(ast.ScalarNode); ok {
			return &node{lineOf(n), s.GetToken().Value}, nil
		}
	case token.IntegerTag, token.FloatTag, token.BooleanTag, token.NullTag, token.MappingTag, token.SequenceTag:
	default:
		return nil, &headError{lineOf(n), fmt.Sprintf("the tag %s has no meaning here", tag), "remove the tag"}
	}
	return w.node(n.Value, depth+1)
}

func (w *walker) mapping(line int, values []*ast.MappingValueNode, depth int) (*node, error) {
	members := make([]member, 0, len(values))
	for _, v := range values {
		value, err := w.node(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if v.Key.IsMergeKey() {
			merged, _ := value.value.([]member)
			members = append(merged[:len(merged):len(merged)], members...)
			continue
		}
		key, err := w.node(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{text(key), lineOf(v.Key), value})
	}
	return &node{line, members}, nil
}

func scalar(n ast.Node) any {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			return v
		case uint64:
			if v <= 1<<62 {
				return int64(v)
			}
		}
		return n.GetToken().Value
	case *ast.FloatNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.StringNode:
		return n.Value
	}
	return n.GetToken().Value
}

// text writes a value as OpenHands would print it.
func text(n *node) string {
	switch v := n.value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".en") {
			s += ".0"
		}
		return s
	}
	data, err := encode(n)
	if err != nil {
		return ""
	}
	return string(data)
}

// encode is a value as JSON.
func encode(n *node) (json.RawMessage, error) {
	return json.Marshal(plain(n))
}

func plain(n *node) any {
	switch v := n.value.(type) {
	case []*node:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	case []member:
		object := make(map[string]any, len(v))
		for _, m := range v {
			object[m.name] = plain(m.value)
		}
		return object
	default:
		return v
	}
}

var errNotNumber = errors.New("it is not a number")
