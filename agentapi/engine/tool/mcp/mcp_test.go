package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// The test binary is the server as well, when it is started with this.
const asServer = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
		waittest.Main(m)
	case "broken":
		fmt.Fprintln(os.Stderr, "no database, token=hunter2-hunter2")
		os.Exit(1)
	case "raw":
		serveRaw(os.Stdin, os.Stdout)
	case "silent":
		time.Sleep(time.Hour)
	default:
		if err := testServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

type echoIn struct {
	Text string `json:"text" jsonschema:"what to say"`
	Loud bool   `json:"loud,omitempty"`
}

func testServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, Title: "Echo"}},
		func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
		})
	s.AddTool(&sdk.Tool{Name: "many", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{
				&sdk.TextContent{Text: "one"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}, &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("x")},
			}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "env", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	s.AddTool(&sdk.Tool{Name: "die", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			os.Exit(3)
			return nil, nil
		})
	s.AddTool(&sdk.Tool{Name: "child", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strconv.Itoa(cmd.Process.Pid)}}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "grow", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s.AddTool(&sdk.Tool{Name: "grown", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}, nil
		})
	return s
}

// stdio is the settings of the test binary as a server. At its exit the race detector
// does not wait: a server gets nothing of our environment that would say so.
func stdio(t *testing.T, mode string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"command":%q,"args":["-test.run=^$"],"env":{%q:%q,"MINE":"${API_KEY}","GORACE":"atexit_sleep_ms=0"},"unknown":1}`, exe, asServer, mode)
}

func secrets() *secretenv.Registry {
	r := secretenv.New(secretenv.Config{HTTP: http.DefaultClient, Now: time.Now})
	r.Set(map[string]secretenv.Secret{"API_KEY": secretenv.Static("hunter2-hunter2", "")})
	return r
}

func config(servers string) mcp.Config {
	return mcp.Config{
		Servers: json.RawMessage(servers), Dir: os.TempDir(), Environ: append(os.Environ(), "OPENAI_API_KEY=SECRET", "OHGW_X=SECRET"),
		Secrets: secrets(), HTTP: http.DefaultTransport, Version: "test",
	}
}

func connect(t *testing.T, cfg mcp.Config) *mcp.Client {
	t.Helper()
	c, err := mcp.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Fatal(w)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func find(t *testing.T, c *mcp.Client, name string) tool.Tool {
	t.Helper()
	var names []string
	for _, x := range c.Tools() {
		if x.Definition().Name == name {
			return x
		}
		names = append(names, x.Definition().Name)
	}
	t.Fatalf("no tool %s among %v", name, names)
	return nil
}

func call(t *testing.T, c *mcp.Client, name, args string) (text string, isError bool) {
	t.Helper()
	result, err := find(t, c, name).Run(t.Context(), tool.Call{Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, item := range result.Content {
		parts = append(parts, item.Text+strings.Join(item.ImageURLs, ""))
	}
	return strings.Join(parts, "|"), result.IsError
}

// warning is why one server cannot be used, nil without a reason.
func warning(t *testing.T, cfg mcp.Config) error {
	t.Helper()
	c, err := mcp.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	switch w := c.Warnings(); len(w) {
	case 0:
		return nil
	case 1:
		return w[0]
	default:
		t.Fatalf("several warnings: %v", w)
		return nil
	}
}

// serve is the test server behind HTTP; its key is asked for.
func serve(t *testing.T, want http.Header) *httptest.Server {
	t.Helper()
	s := testServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range want {
			if r.Header.Get(name) != want.Get(name) {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestStdioServer(t *testing.T) {
	t.Parallel()
	c := connect(t, config(`{"mcpServers":{"one":`+stdio(t, "echo")+`,"off":{"command":"nosuchprogram","enabled":false}}}`))
	var names []string
	for _, x := range c.Tools() {
		names = append(names, x.Definition().Name)
	}
	if diff := cmp.Diff([]string{"child", "die", "echo", "env", "grow", "many", "slow"}, names); diff != "" {
		t.Error(diff)
	}
	d := find(t, c, "echo").Definition()
	if d.ActionKind != "MCPToolAction" || d.ObservationKind != "MCPToolObservation" || d.Kind != "MCPToolDefinition" || !d.ReadOnly() || d.Description != "Says it again." {
		t.Errorf("Definition = %+v", d)
	}
	offer, err := d.Offer()
	if err != nil || !strings.Contains(string(offer), `"summary"`) || strings.Contains(string(offer), "security_risk") || !strings.Contains(string(offer), "what to say") {
		t.Errorf("offer = %s, error %v", offer, err)
	}
	if got, isError := call(t, c, "echo", `{"text":"hi"}`); got != "[result of echo]|hi" || isError {
		t.Error(got)
	}
	got, isError := call(t, c, "many", `{}`)
	if want := "[result of many]|one|[A picture of the result is left out: image/png, 3 bytes, it is not a PNG, JPEG, GIF or WebP picture. Only texts and pictures can be shown.]|[Audio of the result is left out: audio/wav, 1 byte. Only texts and pictures can be shown.]"; got != want || !isError {
		t.Errorf("result = %q", got)
	}
}

func TestArgumentsGetSecretsAndResultsLoseThem(t *testing.T) {
	t.Parallel()
	cfg := config(`{"one":` + stdio(t, "echo") + `}`)
	cfg.LookupEnv = func(name string) (string, bool) { return "from-env", name == "HOME" }
	c := connect(t, cfg)
	for args, want := range map[string]string{
		`{"text":"$API_KEY ${API_KEY} ${NO:-d} $NO $HOME"}`: "[result of echo]|<secret-hidden> <secret-hidden> d $NO $HOME",
		`{"text":"a","other":1}`:                            "",
	} {
		got, isError := call(t, c, "echo", args)
		if want == "" && (!isError || !strings.Contains(got, "other")) || want != "" && got != want {
			t.Errorf("%s: result = %q", args, got)
		}
	}
	env, _ := call(t, c, "env", `{}`)
	if strings.Contains(env, "SECRET") || strings.Contains(env, "hunter2") || !strings.Contains(env, "MINE=<secret-hidden>") || !strings.Contains(env, "PATH=") {
		t.Error(env)
	}
}

func TestSeveralServersGivePrefixedNames(t *testing.T) {
	t.Parallel()
	web := serve(t, nil)
	c := connect(t, config(`{"lo.cal":`+stdio(t, "echo")+`,"web":{"url":"`+web.URL+`"}}`))
	for _, name := range []string{"lo_cal_echo", "web_echo"} {
		if got, isError := call(t, c, name, `{"text":"hi"}`); got != "[result of "+name+"]|hi" || isError {
			t.Error(got)
		}
		var described struct{ Name string }
		if err := json.Unmarshal(find(t, c, name).Definition().MCP, &described); err != nil || described.Name != name {
			t.Errorf("description = %+v, error %v", described, err)
		}
	}
}

func TestRemoteServerIsShownWhoWeAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings string
		want     http.Header
	}{
		"headers": {`"headers":{"X-Key":"${API_KEY}"}`, http.Header{"X-Key": {"hunter2-hunter2"}}},
		"bearer":  {`"auth":{"strategy":"bearer","value":"v"}`, http.Header{"Authorization": {"Bearer v"}}},
		"api_key": {`"type":"shttp","auth":{"strategy":"api_key","value":"v","header_name":"X-Api-Key"}`, http.Header{"X-Api-Key": {"v"}}},
		"basic":   {`"transport":"streamable-http","auth":{"strategy":"basic","username":"u","password":"p"}`, http.Header{"Authorization": {"Basic dTpw"}}},
		"header":  {`"auth":{"strategy":"header","headers":{"X-A":"1"}}`, http.Header{"X-A": {"1"}}},
		"none":    {`"auth":{"strategy":"none"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := serve(t, test.want)
			c := connect(t, config(`{"web":{"url":"`+web.URL+`",`+test.settings+`}}`))
			if got, isError := call(t, c, "echo", `{"text":"hi"}`); got != "[result of echo]|hi" || isError {
				t.Error(got)
			}
		})
	}
}

// The stream of the older transport lasts longer than the message that opened it.
func TestTheOlderTransport(t *testing.T) {
	t.Parallel()
	s := testServer()
	web := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	c := connect(t, config(fmt.Sprintf(`{"srv":{"url":%q,"transport":"sse"}}`, web.URL)))
	for range 2 {
		if text, isError := call(t, c, "echo", `{"text":"hello"}`); isError || !strings.Contains(text, "hello") {
			t.Errorf("text = %q, is an error: %v", text, isError)
		}
	}
	if state := c.Status()[0]; state.State != agentapi.ServerConnected {
		t.Errorf("status = %+v", state)
	}
}

func TestHeadersStayWithTheirServer(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("X-Key") != "")
		http.NotFound(w, r)
	}))
	defer other.Close()
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	if warning(t, config(`{"web":{"url":"`+web.URL+`","headers":{"X-Key":"k"}}}`)) == nil {
		t.Error("no error")
	}
	if leaked.Load() {
		t.Error("another server got the header")
	}
}

func TestServersThatCannotBeUsedAreNamed(t *testing.T) {
	t.Parallel()
	web := serve(t, http.Header{"X-Key": {"k"}})
	for name, test := range map[string]struct{ settings, want string }{
		"no program":      {`{"srv":{"command":"nosuchprogram-x"}}`, "nosuchprogram-x"},
		"program fails":   {`{"srv":` + stdio(t, "broken") + `}`, "it printed: no database"},
		"refused":         {`{"srv":{"url":"http://127.0.0.1:1/mcp"}}`, "refused"},
		"wrong key":       {`{"srv":{"url":"` + web.URL + `","headers":{"X-Key":"SECRET"}}}`, "Unauthorized"},
		"not JSON":        {`{"srv":`, "not a JSON object"},
		"a list":          {`[1]`, "not a JSON object"},
		"neither":         {`{"srv":{}}`, "needs a command, or a url"},
		"no url":          {`{"srv":{"transport":"http","command":"x"}}`, "needs a url"},
		"bad url":         {`{"srv":{"url":"::SECRET"}}`, "malformed"},
		"transport":       {`{"srv":{"url":"http://x","transport":"SECRET"}}`, "transport must be"},
		"strategy":        {`{"srv":{"url":"http://x","auth":{"strategy":"SECRET"}}}`, "unknown strategy"},
		"two of them":     {`{"srv":{"url":"http://x","headers":{"authorization":"SECRET"},"auth":{"strategy":"bearer","value":"SECRET"}}}`, "cannot be combined"},
		"wrong type":      {`{"srv":{"command":["SECRET"]}}`, "command cannot be array"},
		"line break":      {`{"srv":{"url":"http://x","headers":{"X":"SECRET\r\nX: y"}}}`, "line break"},
		"missing secret":  {`{"srv":{"command":"${LOST}"}}`, "expand LOST"},
		"negative":        {`{"srv":{"command":"x","timeout":-1}}`, "timeout"},
		"no such program": {`{"srv":{"command":"/dev/null"}}`, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(test.settings)
			cfg.Secrets.Set(map[string]secretenv.Secret{"LOST": secretenv.Lookup("http://127.0.0.1:1/", nil, "")})
			if name == "program fails" {
				if _, err := cfg.Secrets.Value(t.Context(), "API_KEY"); err != nil {
					t.Fatal(err)
				}
			}
			err := warning(t, cfg)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Hint == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the warning: %v", err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "SECRET") || strings.Contains(text, "hunter2") {
				t.Error(text)
			}
		})
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := mcp.Connect(ctx, config(`{"srv":`+stdio(t, "silent")+`}`)); err == nil {
		t.Error("no error")
	}
}

func TestNoSettingsGiveNoTools(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{``, `null`, `{}`, `{"mcpServers":{}}`} {
		if tools := connect(t, config(settings)).Tools(); len(tools) != 0 {
			t.Errorf("%s: %d tools", settings, len(tools))
		}
	}
}

func TestACallEndsWithItsTimeOrContext(t *testing.T) {
	t.Parallel()
	c := connect(t, config(`{"srv":`+strings.TrimSuffix(stdio(t, "echo"), "}")+`,"timeout":0.2}}`))
	if got, isError := call(t, c, "slow", `{}`); !isError || !strings.Contains(got, "gave no answer within 200ms") {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := find(t, c, "slow").Run(ctx, tool.Call{Args: json.RawMessage(`{}`)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestALostServerIsReachedAgainForTheNextCall(t *testing.T) {
	t.Parallel()
	c := connect(t, config(`{"srv":`+stdio(t, "echo")+`}`))
	if got, isError := call(t, c, "die", `{}`); !isError || !strings.Contains(got, "failed") {
		t.Error(got)
	}
	// Calls fail until the end of the process is known.
	waittest.Until(t, waittest.Patience, "the server is reached again", func() (any, bool) {
		got, isError := call(t, c, "echo", `{"text":"again"}`)
		return got, !isError && got == "[result of echo]|again"
	})
}

func TestCloseEndsTheServerAndItsChildren(t *testing.T) {
	t.Parallel()
	c := connect(t, config(`{"srv":`+stdio(t, "echo")+`}`))
	text, _ := call(t, c, "child", `{}`)
	pid := strings.TrimPrefix(text, "[result of child]|")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "the server's child ends", func() (any, bool) {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return string(stat), err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestCloseDoesNotWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	s := testServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			<-release
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	defer close(release)
	c, err := mcp.Connect(t.Context(), config(`{"srv":{"url":"`+web.URL+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewToolsAreNoticed(t *testing.T) {
	t.Parallel()
	changed := make(chan []tool.Tool, 8)
	cfg := config(`{"srv":` + stdio(t, "echo") + `}`)
	cfg.Changed = func(tools []tool.Tool) { changed <- tools }
	c := connect(t, cfg)
	call(t, c, "grow", `{}`)
	select {
	case tools := <-changed:
		if !slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Definition().Name == "grown" }) {
			t.Errorf("the new tool is not among %d", len(tools))
		}
	case <-time.After(time.Minute):
		t.Fatal("nobody says that there is a new tool")
	}
	find(t, c, "grown")
}
