package completions_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// Tabs of one chat send, hang up, and send again what they think was lost, all
// at once: each message is done once, and none is lost. A run of which a tab
// hung up is cut where another tab waits for its conversation; only then the
// message runs again.
func TestAStormOfTabsDoesEachMessageOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			b := daemontest.New("default")
			var mu sync.Mutex
			done, hungUp := map[string]int{}, map[string]int{}
			count := func(m map[string]int, text string) {
				mu.Lock()
				defer mu.Unlock()
				m[text]++
			}
			b.Script = func(prompt string) []daemontest.Step {
				text := prompt[strings.LastIndex(prompt, "\n")+1:]
				return []daemontest.Step{
					daemontest.Delta("some "),
					daemontest.Wait(time.Duration(len(prompt)%7) * time.Second),
					func(*daemontest.Run) bool { count(done, text); return true },
					daemontest.Finish("You said: " + text),
				}
			}
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.MaxRuns, c.MaxQueue = t.TempDir(), 3, 200 })
			var wg sync.WaitGroup
			for tab := range 4 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(tab)))
					w := openWindow(g, chatID, "c-1")
					for i := range 6 {
						text := fmt.Sprintf("tab %d says %d", tab, i)
						w.shows = append(w.shows, said{"user", text})
						body := w.body(apitest.Streamed)
						for attempt := 0; ; attempt++ {
							ctx, cancel := context.WithCancel(t.Context())
							header := append([]string{"X-Stainless-Retry-Count", fmt.Sprint(attempt)}, w.header...)
							if rng.IntN(3) == 0 && attempt < 3 {
								time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, cancel)
							}
							res, err := g.Client.Do(g.Request(http.MethodPost, "/v1/chat/completions", body, header...).WithContext(ctx))
							if err != nil {
								cancel()
								count(hungUp, text)
								continue
							}
							got := g.Finish(res)
							cancel()
							if got.Err != nil {
								count(hungUp, text)
								continue
							}
							if got.Status == http.StatusTooManyRequests {
								time.Sleep(4 * time.Second)
								continue
							}
							f := apitest.Parse(t, got)
							if f.End != "[DONE]" || !strings.Contains(f.Text(), "You said: "+text) {
								t.Errorf("seed %d: %q: %q %s", seed, text, f.Text(), f.End)
							}
							w.shows = append(w.shows, said{"assistant", f.Text()})
							break
						}
					}
				})
			}
			wg.Wait()
			ran := map[string]int{}
			for _, p := range b.Prompts() {
				ran[p.Text[strings.LastIndex(p.Text, "\n")+1:]]++
			}
			for tab := range 4 {
				for i := range 6 {
					text := fmt.Sprintf("tab %d says %d", tab, i)
					if done[text] != 1 || ran[text] > 1+hungUp[text] {
						t.Errorf("seed %d: %q was done %d times in %d runs; its client hung up %d times", seed, text, done[text], ran[text], hungUp[text])
					}
				}
			}
		})
	}
}
