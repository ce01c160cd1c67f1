package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// scriptLimit is how long a script of ours may run in a page.
const scriptLimit = 15 * time.Second

// maxThrown is how much of an exception is told, in characters.
const maxThrown = 300

// remote is what a script has returned.
type remote struct {
	ID    string          `json:"objectId"`
	Value json.RawMessage `json:"value"`
}

// called is the answer to a function that was called.
type called struct {
	Result    remote `json:"result"`
	Exception *struct {
		Text      string `json:"text"`
		Exception struct {
			Description string `json:"description"`
		} `json:"exception"`
	} `json:"exceptionDetails"`
}

// eval runs a function of JavaScript with arguments, and decodes what it returns.
func (t *tab) eval(ctx context.Context, function string, out any, args ...any) error {
	_, err := t.run(ctx, "", function, out, args)
	return err
}

// keep runs a function of JavaScript, and returns a reference to what it returns.
func (t *tab) keep(ctx context.Context, function string, args ...any) (object string, err error) {
	return t.run(ctx, "", function, nil, args)
}

// on runs a function of JavaScript whose this is an object that was kept.
func (t *tab) on(ctx context.Context, kept, function string, out any, args ...any) error {
	_, err := t.run(ctx, kept, function, out, args)
	return err
}

// run runs a function in our own world of the page, which its scripts cannot reach but may
// hold up.
func (t *tab) run(ctx context.Context, kept, function string, out any, args []any) (string, error) {
	if t.crashed.Load() {
		return "", errCrashed
	}
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	got, err := t.call(limited, kept, function, out != nil, args)
	switch {
	case t.crashed.Load():
		return "", errCrashed
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		t.c.later(t.terminate)
		return "", errBusy
	case err != nil:
		return "", err
	case got.Exception != nil:
		text := strings.TrimSpace(got.Exception.Text + " " + got.Exception.Exception.Description)
		return "", fmt.Errorf("a script in the page failed: %s", cut(text, maxThrown))
	case out == nil && got.Result.ID == "", out != nil && got.Result.Value == nil:
		return "", errors.New("a script in the page has returned nothing")
	case out == nil:
		return got.Result.ID, nil
	}
	return "", json.Unmarshal(got.Result.Value, out)
}

// call calls a function with an object that was kept, or in our world.
func (t *tab) call(ctx context.Context, kept, function string, byValue bool, args []any) (got called, err error) {
	arguments := make([]object, 0, len(args))
	for _, a := range args {
		arguments = append(arguments, object{"value": a})
	}
	params := object{"functionDeclaration": function, "returnByValue": byValue, "arguments": arguments}
	if kept != "" {
		params["objectId"] = kept
	} else {
		var world struct {
			ID int64 `json:"executionContextId"`
		}
		if err := t.do(ctx, "Page.createIsolatedWorld", object{"frameId": t.id, "worldName": "ohgw"}, &world); err != nil {
			return got, err
		}
		params["executionContextId"] = world.ID
	}
	return got, t.do(ctx, "Runtime.callFunctionOn", params, &got)
}

// terminate stops the scripts of a page that does not answer.
func (t *tab) terminate() {
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	_ = t.do(ctx, "Runtime.terminateExecution", nil, nil)
}
