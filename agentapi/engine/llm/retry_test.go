package llm_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

// announced asks the model, and returns what it announced, with the times.
func announced(t *testing.T, m llm.Model) (told []llm.Retry, after []time.Duration, err error) {
	t.Helper()
	began := time.Now()
	_, err = m.Generate(t.Context(), hello("Go."), func(d llm.Delta) {
		if d.Retry != nil {
			told = append(told, *d.Retry)
			after = append(after, time.Since(began))
		}
	})
	return told, after, err
}

func TestARepeatIsAnnouncedBeforeItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		client := server(func(*http.Request) (*http.Response, error) {
			if n++; n < 3 {
				return answer(503, "application/json", `{"error":{"message":"busy with key-0123456789-secret"}}`), nil
			}
			return said("hello"), nil
		}).client()
		var log bytes.Buffer
		m := newModel(t, llm.Config{
			HTTP: client, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Profile: profile(t, "openai/test", `"base_url":"https://user:pass-word@api.example:8443/v1?key=query-secret","retry_min_wait":8,"retry_max_wait":64`),
		})
		told, after, err := announced(t, m)
		if err != nil {
			t.Fatal(err)
		}
		want := []llm.Retry{
			{Attempt: 2, Of: 5, Wait: 8 * time.Second, Cause: "api.example:8443 answered 503 Service Unavailable"},
			{Attempt: 3, Of: 5, Wait: 16 * time.Second, Cause: "api.example:8443 answered 503 Service Unavailable"},
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 8 * time.Second}, after); diff != "" {
			t.Errorf("announced late: %s", diff)
		}
		if !strings.Contains(log.String(), "attempt=2 of=5 wait=8s") {
			t.Errorf("the log does not have the repeat:\n%s", log.String())
		}
		for _, secret := range []string{"pass-word", "query-secret", secretKey} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log shows %s:\n%s", secret, log.String())
			}
		}
	})
}

func TestAServerThatIsNotThereIsGivenUpAfterOneRepeat(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "llm.example", IsNotFound: true}}
	for name, tt := range map[string]struct {
		url          string
		err          error
		cause, again string
		tries        int
		most         time.Duration
	}{
		"a local server that is down": {
			"http://u:p@127.0.0.1:11434/v1?k=v", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
			"127.0.0.1:11434 refuses connections", "Start the model server", 2, 2 * time.Second,
		},
		"a server elsewhere that is down": {
			"http://box.example:8000/v1", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
			"box.example:8000 refuses connections", "Check the network and the profile's base URL", 2, 2 * time.Second,
		},
		"a name that does not exist": {
			"https://llm.example/v1", refused, "llm.example cannot be reached: no such host", "ohgw doctor", 2, 2 * time.Second,
		},
		"a resolver that does not answer": {
			"https://llm.example/v1", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "llm.example", IsTemporary: true}},
			"server misbehaving", "base URL", 5, 2 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				client := server(func(*http.Request) (*http.Response, error) {
					tries++
					return nil, tt.err
				}).client()
				m := newModel(t, llm.Config{Name: "mine", HTTP: client, Profile: profile(t, "openai/test", `"base_url":"`+tt.url+`","retry_min_wait":8,"retry_max_wait":64`)})
				began := time.Now()
				told, _, err := announced(t, m)
				failed := failure(t, err)
				if !strings.Contains(failed.Detail, tt.cause) || !strings.Contains(failed.Detail, tt.again) || failed.Code != llm.CodeUnavailable || !failed.Classification.Retryable {
					t.Errorf("error %+v", failed)
				}
				if tries != tt.tries || time.Since(began) > tt.most {
					t.Errorf("%d tries in %s, want %d in %s at most", tries, time.Since(began), tt.tries, tt.most)
				}
				if len(told) != tt.tries-1 || !strings.Contains(told[0].Cause, tt.cause) || told[0].Of != tt.tries {
					t.Errorf("announced %+v", told)
				}
				if strings.Contains(failed.Detail, "u:p") || strings.Contains(failed.Detail, "k=v") {
					t.Errorf("the error shows more of the URL than its host: %s", failed.Detail)
				}
			})
		})
	}
}

func TestOneAttemptStaysOne(t *testing.T) {
	t.Parallel()
	tries := 0
	client := server(func(*http.Request) (*http.Response, error) {
		tries++
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}).client()
	m := newModel(t, llm.Config{HTTP: client, Profile: profile(t, "openai/test", `"base_url":"http://127.0.0.1:1/v1","num_retries":1`)})
	told, _, err := announced(t, m)
	if tries != 1 || len(told) != 0 || !errors.As(err, new(*llm.Error)) {
		t.Errorf("%d tries, announced %v, %v", tries, told, err)
	}
}
