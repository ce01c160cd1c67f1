package migrate

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/secret"
)

// proxyVariable is where OpenHands looks for the URL of an entry without one.
const proxyVariable = "LITELLM_PROXY_API_BASE"

// hints adds facts to the entries without a URL that help a person to decide
// whose model they mean. They decide nothing by themselves.
func (r *runner) hints() {
	if !slices.ContainsFunc(r.report.Items, needsHints) {
		return
	}
	byKey := map[[sha256.Size]byte]string{} // profiles of OpenHands' models by key
	byModel := map[string]string{}          // profiles at OpenHands' proxy by model
	for _, p := range r.plans {
		if p.target.file.Kind != document.Profile || len(p.items) != 1 || p.snap.Gate != nil {
			continue
		}
		for _, e := range p.snap.Entries() {
			r.learn(byKey, byModel, p.target.file.Name(), e)
		}
	}
	at := 0
	for _, p := range r.plans {
		for i, e := range p.snap.Entries() {
			if i >= len(p.items) || at+i >= len(r.report.Items) {
				break
			}
			item := &r.report.Items[at+i]
			if needsHints(*item) {
				item.Hints = r.hintsFor(e, byKey, byModel)
			}
		}
		at += len(p.items)
	}
}

func needsHints(i Item) bool {
	return i.Action == canon.ReportStranded || i.Action == canon.ReportAmbiguous
}

func (r *runner) learn(byKey map[[sha256.Size]byte]string, byModel map[string]string, name string, e document.Entry) {
	if strings.HasPrefix(e.Model(), canon.OpenHands) {
		if id, ok := r.keyID(e); ok {
			byKey[id] = name
		}
	}
	url, _ := e.Value.Get("base_url").Text()
	if ours, err := canon.IsAppProxy(url); ours && err == nil {
		byModel[bareModel(e)] = name
	}
}

func bareModel(e document.Entry) string {
	_, name, _ := strings.Cut(e.Model(), "/")
	return name
}

func (r *runner) hintsFor(e document.Entry, byKey map[[sha256.Size]byte]string, byModel map[string]string) []string {
	var hints []string
	if id, ok := r.keyID(e); ok && byKey[id] != "" {
		hints = append(hints, fmt.Sprintf("it has the key of %s, which uses an OpenHands model", byKey[id]))
	}
	if name := byModel[bareModel(e)]; name != "" {
		hints = append(hints, name+" has a model of this name on OpenHands' proxy")
	}
	if r.LookupEnv != nil {
		if _, set := r.LookupEnv(proxyVariable); set {
			hints = append(hints, proxyVariable+" is set here; an agent-server may have another environment")
		}
	}
	return hints
}

// keyID is equal for equal keys, also when one of them is encrypted and the
// secret is known.
func (r *runner) keyID(e document.Entry) ([sha256.Size]byte, bool) {
	key, _ := e.Value.Get("api_key").Text()
	if strings.TrimSpace(key) == "" || key == secret.Redacted {
		return [sha256.Size]byte{}, false
	}
	if fernet.IsToken(key) {
		if plain, _, err := r.Ciphers.Decrypt(key); err == nil {
			key = plain.Reveal()
		}
	}
	return sha256.Sum256([]byte(key)), true
}
