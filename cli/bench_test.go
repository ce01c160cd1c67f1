package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fullProfile is a profile as OpenHands 1.43 writes it, with all that it writes.
const fullProfile = `{
  "model": %q,
  "api_key": "gAAAAABpVbkAAAECAwQFBgcICQoLDA0OD4V2gXe4gKjk4-c8purNrPlrdfZ4gmm__omhIRYonYrHWaY-0GWSOxLeQCjVjuchCDHcTS81JnT8yOc1QdzIW9t75VV5LevLcDXIUm-e-cJ9",
  "auth_type": "api_key",%s
  "openrouter_site_url": "https://docs.all-hands.dev/",
  "openrouter_app_name": "OpenHands",
  "num_retries": 5,
  "retry_multiplier": 8.0,
  "retry_min_wait": 8,
  "retry_max_wait": 64,
  "timeout": 300,
  "max_message_chars": 30000,
  "api_mode": "auto",
  "capability_overrides": {},
  "stream": false,
  "drop_params": true,
  "modify_params": true,
  "disable_stop_word": false,
  "caching_prompt": true,
  "log_completions": false,
  "log_completions_folder": "logs/completions",
  "native_tool_calling": true,
  "reasoning_effort": "high",
  "enable_encrypted_reasoning": true,
  "prompt_cache_retention": "24h",
  "extended_thinking_budget": 200000,
  "usage_id": "default",
  "litellm_extra_body": {},
  "is_subscription": false,
  "schema_version": 1
}`

// bench is the built program and a user of it.
type bench struct {
	program string
	env     []string
	base    string
}

func newBench(b *testing.B) *bench {
	b.Helper()
	home := b.TempDir()
	u := &bench{program: filepath.Join(home, "ohgw"), base: filepath.Join(home, "oh")}
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", u.program, "github.com/ohgw/ohgw/cmd/ohgw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	u.env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home, "OHGW_KEY_STORE=file", "OH_PERSISTENCE_DIR=" + u.base}
	return u
}

// fill writes n profiles. Every second one is in the old form.
func (u *bench) fill(b *testing.B, n int) {
	b.Helper()
	dir := filepath.Join(u.base, "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		model, url := "openhands/kimi-k3", ""
		if i%2 == 1 {
			model, url = "litellm_proxy/kimi-k3", "\n  \"base_url\": \"https://llm-proxy.app.all-hands.dev/\","
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("profile-%05d.json", i)), fmt.Appendf(nil, fullProfile, model, url), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// measure measures a command line, from the start of the process to its end.
func (u *bench) measure(b *testing.B, stdin, line string) {
	b.Run(line, func(b *testing.B) {
		for b.Loop() {
			u.run(b, stdin, line)
		}
	})
}

func (u *bench) run(b *testing.B, stdin, line string) {
	cmd := exec.CommandContext(b.Context(), u.program, strings.Fields(line)...)
	cmd.Env, cmd.Stdin = u.env, strings.NewReader(stdin)
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

// What a person waits for: 50 ms for a command about keys, 25 ms for completion.
func BenchmarkKeysCommands(b *testing.B) {
	u := newBench(b)
	u.fill(b, 50)
	u.measure(b, "", "--version")
	u.measure(b, "FIXTURE-0123456789-key", "keys set profile-00000 --replace")
	for _, line := range []string{
		"keys list", "keys status", "tokens list", "profiles list", "profiles show profile-00001", "profiles check",
		"__complete profiles show p", "__complete keys set p",
	} {
		u.measure(b, "", line)
	}
}

// 300 ms for the list of 10,000 profiles, a second for the plan of a migration.
func BenchmarkTenThousandProfiles(b *testing.B) {
	u := newBench(b)
	const n = 10_000
	u.fill(b, n)
	for _, line := range []string{"profiles list", "profiles list --json", "profiles migrate --dry-run", "profiles check", "keys status", "__complete profiles show p"} {
		u.measure(b, "", line)
	}
	b.Run("profiles migrate", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			u.fill(b, n)
			b.StartTimer()
			u.run(b, "", "profiles migrate")
		}
		b.ReportMetric(float64(b.N)*n/2/b.Elapsed().Seconds(), "files/s")
	})
}
