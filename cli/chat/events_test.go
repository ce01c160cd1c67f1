package chat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/fault"
)

// classes are the exit codes of a question that ended with a code of the gateway. Each
// code has one, also where that is Failed: a new code is put here on purpose.
var classes = map[fault.Code][]string{
	fault.Provider: {"llm_error", "context_length_exceeded"},
	fault.Agent: {
		"run_error", "run_stuck", "run_interrupted", "agent_lost", "agent_unavailable", "agent_server_error", "agent_server_lost",
		"invalid_structured_output",
	},
	fault.Unreachable:   {"agent_server_unavailable"},
	fault.Budget:        {"run_timeout", "insufficient_quota"},
	fault.Refused:       {"sandbox_unavailable"},
	fault.Configuration: {"model_not_found", "agent_error"},
	fault.Failed: {
		// The status of the answer is more exact: faultOf has a class for it.
		"missing_api_key", "invalid_api_key", "not_ready", "too_many_connections", "rate_limit_exceeded", "conversation_busy",
		// The daemon itself cannot do it.
		"internal_error", "storage_full", "storage_unavailable", "client_too_slow",
		// The token, the address or the page does not have the right.
		"forbidden_metrics", "forbidden_host", "forbidden_origin", "forbidden_workspace", "forbidden_confirmation", "forbidden_sandbox_grant",
		// The question does not fit what there is.
		"conversation_not_found", "item_not_found", "response_not_found", "workspace_not_found", "unknown_url", "workspace_mismatch",
		"model_mismatch", "idempotency_key_conflict", "condenser_unavailable", "response_in_progress", "sandbox_grants_unsupported",
		"previous_response_not_found", "previous_response_not_latest",
		// The request is wrong, which is a fault of ohgw.
		"unsupported_content_encoding", "invalid_conversation_id", "method_not_allowed", "request_too_large", "request_timeout",
		"headers_too_large", "malformed_request", "invalid_json_schema", "mutually_exclusive_parameters", "invalid_json", "invalid_type",
		"missing_required_parameter", "empty_array", "invalid_value", "unsupported_value", "unsupported_parameter", "unsupported_content_type",
		"integer_below_min_value", "array_above_max_length", "string_above_max_length", "invalid_image_url", "invalid_base64_image",
	},
}

func TestEachCodeOfTheGatewayHasAnExitCodeOnPurpose(t *testing.T) {
	t.Parallel()
	known := gatewayCodes(t)
	listed := map[string]bool{}
	for class, codes := range classes {
		for _, code := range codes {
			if listed[code] || !known[code] {
				t.Errorf("%s is listed twice, or the daemon has no such code", code)
			}
			listed[code] = true
			if got := fault.OfGateway(code); got != class {
				t.Errorf("the exit code for %s is %d, want %d", code, got, class)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(known)) {
		if !listed[code] {
			t.Errorf("the daemon can answer with %s, which has no exit code: add it to fault.OfGateway and classes", code)
		}
	}
	for code := range texts(parse(t, "../../internal/fault/exitcodes.go"), "OfGateway") {
		if !known[code] {
			t.Errorf("fault.OfGateway has the code %s, and the daemon has not", code)
		}
	}
}

// gatewayCodes are the constants of the daemon whose names begin with code.
func gatewayCodes(t *testing.T) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	for _, name := range []string{"gate", "completions", "responses", "conversations", "openai"} {
		dir := filepath.Join("../../daemon", name)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			for _, decl := range parse(t, filepath.Join(dir, e.Name())).Decls {
				if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.CONST {
					addCodes(t, codes, d)
				}
			}
		}
	}
	if len(codes) < 50 {
		t.Fatalf("found %d codes only: %v", len(codes), codes)
	}
	return codes
}

func addCodes(t *testing.T, codes map[string]bool, d *ast.GenDecl) {
	t.Helper()
	for _, s := range d.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(strings.ToLower(name.Name), "code") {
				continue
			}
			if i >= len(spec.Values) {
				t.Fatalf("%s has no value of its own", name.Name)
			}
			found := literals(spec.Values[i])
			if len(found) != 1 {
				t.Fatalf("%s is not one text: %v", name.Name, found)
			}
			maps.Copy(codes, found)
		}
	}
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// texts are the texts in a function of a file.
func texts(file *ast.File, function string) map[string]bool {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == function {
			return literals(f.Body)
		}
	}
	return nil
}

func literals(n ast.Node) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found[text] = true
			}
		}
		return true
	})
	return found
}
