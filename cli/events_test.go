package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// eventsSchema is the contract of ohgw chat --json.
const eventsSchema = "../docs/chat-events.schema.json"

// events OUTCOME CODE [TYPE]...
//
// Checks that each line of the last output is an event of the schema in docs, that the
// types come in this order, repeated ones once, and that the last one is the only
// end, with this outcome and exit code.
func cmdEvents(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: events OUTCOME CODE [TYPE]...")
	}
	schema, err := jsonschema.NewCompiler().Compile(eventsSchema)
	ts.Check(err)
	if err := checkEvents(schema, ts.ReadFile("stdout"), args); err != nil {
		ts.Fatalf("the events: %v", err)
	}
}

func checkEvents(schema *jsonschema.Schema, output string, args []string) error {
	if !strings.HasSuffix(output, "\n") {
		return fmt.Errorf("the output has no whole last line: %q", output)
	}
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	var types []string
	for i, line := range lines {
		event, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			return fmt.Errorf("line %d is not JSON: %w", i+1, err)
		}
		if err := schema.Validate(event); err != nil {
			return fmt.Errorf("line %d, %s: %w", i+1, line, err)
		}
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return err
		}
		if n := len(types); n == 0 || types[n-1] != e.Type {
			types = append(types, e.Type)
		} else if e.Type == "end" {
			return errors.New("there are two ends")
		}
	}
	var end struct {
		Type     string
		Outcome  string
		ExitCode int `json:"exit_code"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil {
		return err
	}
	if end.Type != "end" || end.Outcome != args[0] || strconv.Itoa(end.ExitCode) != args[1] {
		return fmt.Errorf("the last line is %s, want the outcome %s and the exit code %s", lines[len(lines)-1], args[0], args[1])
	}
	if want := strings.Join(append(args[2:], "end"), " "); len(args) > 2 && strings.Join(types, " ") != want {
		return fmt.Errorf("events %s, want %s", strings.Join(types, " "), want)
	}
	return nil
}
