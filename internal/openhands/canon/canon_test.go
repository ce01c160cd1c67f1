package canon_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

const (
	proxyURL = "https://llm-proxy.app.all-hands.dev/"
	current  = "claude-opus-5"
	retired  = "claude-sonnet-4-20250514"
)

var null = canon.URL{State: canon.URLNull}

func text(url string) canon.URL { return canon.URL{State: canon.URLText, Text: url} }

// The rows of the decision table, in its order.
func TestDecide(t *testing.T) {
	t.Parallel()
	other := canon.URL{State: canon.URLOther}
	for _, tt := range []struct {
		name string
		in   canon.Entry
		want canon.Decision
	}{
		{"1 redundant URL", entry("openhands/x", text(proxyURL)), canon.Decision{Action: canon.Migrate, Model: "openhands/x", DropURL: true}},
		{"2 present form", entry("openhands/x", canon.URL{}), canon.Decision{Action: canon.Unchanged}},
		{"3 null", entry("openhands/x", null), canon.Decision{Action: canon.Unchanged, Warnings: []canon.Warning{canon.NullBaseURL}}},
		{"3 empty", entry("openhands/x", text("")), canon.Decision{Action: canon.Unchanged, Warnings: []canon.Warning{canon.NullBaseURL}}},
		{"4 own endpoint", entry("openhands/x", text("https://gateway.example.com/")), canon.Decision{Action: canon.Unchanged}},
		{"4 blanks", entry("openhands/x", text(" ")), canon.Decision{Action: canon.Unchanged, Warnings: []canon.Warning{canon.BlankBaseURL}}},
		{"4 without TLS", entry("openhands/x", text("http://llm-proxy.app.all-hands.dev")), canon.Decision{Action: canon.Unchanged, Warnings: []canon.Warning{canon.PlainHTTP}}},
		{"5 old form", entry("litellm_proxy/"+current, text(proxyURL)), canon.Decision{Action: canon.Migrate, Model: "openhands/" + current, DropURL: true, Standing: canon.Current}},
		{"6 retired", entry("litellm_proxy/"+retired, text(proxyURL)), canon.Decision{Action: canon.ReportRetired, Standing: canon.Retired}},
		{"7 unlisted", entry("litellm_proxy/nobody", text(proxyURL)), canon.Decision{Action: canon.ReportUnlisted, Standing: canon.Unlisted}},
		{"7 another case", entry("litellm_proxy/Claude-Opus-5", text(proxyURL)), canon.Decision{Action: canon.ReportUnlisted, Standing: canon.Unlisted}},
		{"7 trailing blank", entry("litellm_proxy/"+current+" ", text(proxyURL)), canon.Decision{Action: canon.ReportUnlisted, Standing: canon.Unlisted}},
		{"7 doubled prefix", entry("litellm_proxy/litellm_proxy/"+current, text(proxyURL)), canon.Decision{Action: canon.ReportUnlisted, Standing: canon.Unlisted}},
		{"7 no name", entry("litellm_proxy/", text(proxyURL)), canon.Decision{Action: canon.ReportUnlisted, Standing: canon.Unlisted}},
		{"8 absent", entry("litellm_proxy/"+current, canon.URL{}), canon.Decision{Action: canon.ReportStranded, Standing: canon.Current}},
		{"8 null", entry("litellm_proxy/"+retired, null), canon.Decision{Action: canon.ReportStranded, Standing: canon.Retired}},
		{"8 empty", entry("litellm_proxy/"+current, text("")), canon.Decision{Action: canon.ReportStranded, Standing: canon.Current}},
		{"8 blanks", entry("litellm_proxy/"+current, text(" ")), canon.Decision{Action: canon.ReportStranded, Standing: canon.Current, Warnings: []canon.Warning{canon.BlankBaseURL}}},
		{"9 absent", entry("litellm_proxy/nobody", canon.URL{}), canon.Decision{Action: canon.ReportAmbiguous, Standing: canon.Unlisted}},
		{"8 linked", canon.Entry{Model: "litellm_proxy/" + current, Linked: true}, canon.Decision{Action: canon.ReportLinked, Standing: canon.Current}},
		{"9 linked", canon.Entry{Model: "litellm_proxy/nobody", URL: null, Linked: true}, canon.Decision{Action: canon.ReportLinked, Standing: canon.Unlisted}},
		{"10 upper case", entry("litellm_proxy/"+current, text("https://LLM-Proxy.App.All-Hands.dev/")), canon.Decision{Action: canon.ReportNearMiss, Standing: canon.Current}},
		{"10 without TLS", entry("litellm_proxy/nobody", text("http://llm-proxy.app.all-hands.dev/")), canon.Decision{Action: canon.ReportNearMiss, Standing: canon.Unlisted, Warnings: []canon.Warning{canon.PlainHTTP}}},
		{"10 port", entry("litellm_proxy/"+current, text(proxyURL[:len(proxyURL)-1]+":443")), canon.Decision{Action: canon.ReportNearMiss, Standing: canon.Current}},
		{"10 user and root dot", entry("litellm_proxy/"+current, text("https://u:p@llm-proxy.app.all-hands.dev./v9")), canon.Decision{Action: canon.ReportNearMiss, Standing: canon.Current}},
		{"10 no scheme", entry("litellm_proxy/"+current, text("llm-proxy.app.all-hands.dev/v1")), canon.Decision{Action: canon.ReportNearMiss, Standing: canon.Current}},
		{"10 no scheme but a port", entry("litellm_proxy/"+current, text("llm-proxy.app.all-hands.dev:443/v1")), canon.Decision{Action: canon.ReportNearMiss, Standing: canon.Current}},
		{"11 third party", entry("litellm_proxy/"+current, text("https://proxy.example.com")), canon.Decision{Action: canon.Unchanged, Standing: canon.Current}},
		{"11 staging", entry("litellm_proxy/"+current, text("https://llm-proxy.staging.all-hands.dev/")), canon.Decision{Action: canon.Unchanged, Standing: canon.Current}},
		{"11 look-alike", entry("litellm_proxy/"+current, text("https://llm-proxy.app.all-hands.dev.evil.example")), canon.Decision{Action: canon.Unchanged, Standing: canon.Current}},
		{"12 anything else", entry("anthropic/claude", text(proxyURL)), canon.Decision{Action: canon.Unchanged}},
		{"12 not even a URL", entry("anthropic/claude", text("https://[::1")), canon.Decision{Action: canon.Unchanged}},
		{"12 another case", entry("OpenHands/x", text(proxyURL)), canon.Decision{Action: canon.Unchanged}},
		{"13 old form", entry("litellm_proxy/"+current, text("https://[::1")), canon.Decision{Action: canon.ErrorBadURL, Standing: canon.Current}},
		{"13 present form", entry("openhands/x", text("https://[::1")), canon.Decision{Action: canon.ErrorBadURL}},
		{"13 tolerated", canon.Entry{Model: "openhands/x", URL: text("https://[::1"), Tolerant: true}, canon.Decision{Action: canon.ReportBadURL}},
		{"14 a number", entry("anthropic/claude", other), canon.Decision{Action: canon.ErrorSchema}},
		{"14 of an old form", entry("litellm_proxy/"+current, other), canon.Decision{Action: canon.ErrorSchema, Standing: canon.Current}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want.Model == "" {
				tt.want.Model = tt.in.Model
			}
			got := canon.Embedded().Decide(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Action != canon.Migrate {
				return
			}
			again := canon.Embedded().Decide(canon.Entry{Model: got.Model})
			if again.Action != canon.Unchanged || len(again.Warnings) > 0 {
				t.Errorf("a second look says %+v", again)
			}
		})
	}
}

func TestAsOpenHands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		in    canon.Entry
		force bool
		want  string // the model, or "" when it is refused
	}{
		{"stranded", entry("litellm_proxy/"+current, null), false, "openhands/" + current},
		{"stranded and retired", entry("litellm_proxy/"+retired, canon.URL{}), false, "openhands/" + retired},
		{"retired", entry("litellm_proxy/"+retired, text(proxyURL)), false, "openhands/" + retired},
		{"unlisted, with the URL", entry("litellm_proxy/nobody", text(proxyURL)), false, "openhands/nobody"},
		{"ambiguous", entry("litellm_proxy/nobody", null), false, ""},
		{"ambiguous, with force", entry("litellm_proxy/nobody", null), true, "openhands/nobody"},
		{"near miss", entry("litellm_proxy/"+current, text("http://llm-proxy.app.all-hands.dev")), false, "openhands/" + current},
		{"unlisted near miss", entry("litellm_proxy/nobody", text("http://llm-proxy.app.all-hands.dev")), false, ""},
		{"would be migrated anyway", entry("litellm_proxy/"+current, text(proxyURL)), false, "openhands/" + current},
		{"done already", entry("openhands/"+current, canon.URL{}), false, "openhands/" + current},
		{"no name", entry("litellm_proxy/", text(proxyURL)), true, ""},
		{"third party", entry("litellm_proxy/"+current, text("https://proxy.example.com")), true, ""},
		{"another provider", entry("anthropic/claude", canon.URL{}), true, ""},
		{"linked", canon.Entry{Model: "litellm_proxy/" + current, Linked: true}, true, ""},
		{"no URL", entry("litellm_proxy/"+current, text("https://[")), true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Embedded().AsOpenHands(tt.in, tt.force)
			switch {
			case tt.want == "" && !errors.Is(err, canon.ErrRefused):
				t.Errorf("AsOpenHands = %+v, error %v; want a refusal", got, err)
			case tt.want != "" && (err != nil || got.Model != tt.want):
				t.Errorf("AsOpenHands = %+v, error %v; want %s", got, err, tt.want)
			case tt.want != "" && tt.in.URL.State == canon.URLText && !got.DropURL:
				t.Error("the URL stays")
			}
		})
	}
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()
	stranded := entry("litellm_proxy/team-alias", null)
	for _, tt := range []struct {
		name string
		in   canon.Entry
		url  string
		ok   bool
	}{
		{"own proxy", stranded, "https://proxy.example.com/v1", true},
		{"own proxy on this machine", entry("litellm_proxy/"+current, canon.URL{}), "http://127.0.0.1:4000", true},
		{"has a URL", entry("litellm_proxy/x", text("https://a.example")), "https://b.example", false},
		{"another provider", entry("anthropic/x", null), "https://b.example", false},
		{"linked", canon.Entry{Model: "litellm_proxy/x", Linked: true}, "https://b.example", false},
		{"OpenHands' proxy", stranded, proxyURL, false},
		{"no scheme", stranded, "proxy.example.com", false},
		{"no host", stranded, "https:///v1", false},
		{"another scheme", stranded, "file:///etc/passwd", false},
		{"broken", stranded, "https://[::1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := canon.Embedded().CheckBaseURL(tt.in, tt.url)
			if tt.ok != (err == nil) || err != nil && !errors.Is(err, canon.ErrRefused) {
				t.Errorf("error = %v, want ok = %v", err, tt.ok)
			}
		})
	}
}

func TestURLOf(t *testing.T) {
	t.Parallel()
	doc, err := jsonedit.Parse([]byte(`{"null":null,"text":"x","number":1,"half":"\ud800"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]canon.URL{
		"absent": {}, "null": null, "text": text("x"),
		"number": {State: canon.URLOther}, "half": text("\xed\xa0\x80"), // the SDK takes it for text
	} {
		if got := canon.URLOf(doc.Root().Get(name)); got != want {
			t.Errorf("%s: URLOf = %+v, want %+v", name, got, want)
		}
	}
}

func TestTheEmbeddedList(t *testing.T) {
	t.Parallel()
	l := canon.Embedded()
	if n := len(l.Current()); n != 49 {
		t.Errorf("%d current models, want 49", n)
	}
	if !slices.Contains(l.Current(), current) || l.Standing(current) != canon.Current ||
		l.Standing(retired) != canon.Retired || l.Standing("nobody") != canon.Unlisted || l.Source() == "" {
		t.Error("the list lacks something")
	}
}

func TestParseListRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, src := range []string{``, `[]`, `{}`, `{"current":[]}`, `{"current":"x"}`} {
		if _, err := canon.ParseList([]byte(src)); err == nil {
			t.Errorf("ParseList(%q) gives no error", src)
		}
	}
	l, err := canon.ParseList([]byte(`{"source":"mine","current":["a"],"retired":[{"name":"b"},{"name":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := []canon.Standing{l.Standing("a"), l.Standing("b"), l.Standing("c")}
	if diff := cmp.Diff([]canon.Standing{canon.Current, canon.Retired, canon.Unlisted}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func entry(model string, url canon.URL) canon.Entry { return canon.Entry{Model: model, URL: url} }
