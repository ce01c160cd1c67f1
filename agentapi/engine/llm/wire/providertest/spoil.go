package providertest

import (
	"math/rand/v2"
	"strings"
)

// nasty is what goes into the answers of providers: as bytes, and as escapes.
var nasty = []string{
	`\ud99c`, `\\ud99c`, `\udc00\ud800`, `\\\\udead`, `\u0000`, `\\u0000`, "\x00", "\xff", "\xed\xa0\x80", `\n`, `"`, `\`, "", " ", "null", "{}", "[]", `{"at":"\ud800"}`,
	`","name":"`, `","id":"`, `__thought__`, strings.Repeat("x", 300), "é", "😀", "\u2028", "[DONE]", "0", "-1", "1e400",
}

// Spoil changes an answer in a few places.
func Spoil(rng *rand.Rand, payloads []string) []string {
	out := append([]string(nil), payloads...)
	for range 1 + rng.IntN(4) {
		i := rng.IntN(len(out))
		switch p := out[i]; rng.IntN(7) {
		case 0: // left out
			if len(out) > 1 {
				out = append(out[:i], out[i+1:]...)
			}
		case 1: // twice
			out = append(out[:i+1], append([]string{p}, out[i+1:]...)...)
		case 2: // in another place
			j := rng.IntN(len(out))
			out[i], out[j] = out[j], out[i]
		case 3: // a member is empty
			for _, name := range []string{"name", "id", "call_id", "toolUseId"} {
				if at := strings.Index(p, `"`+name+`":"`); at >= 0 && rng.IntN(2) == 0 {
					at += len(name) + 4
					p = p[:at] + p[at+strings.IndexByte(p[at:], '"'):]
				}
			}
			out[i] = p
		case 4: // equal ids
			out[i] = strings.NewReplacer("call_b", "call_a", "toolu_b", "toolu_a", "tooluse_b", "tooluse_a", "fc_2", "fc_1").Replace(p)
		default:
			out[i] = Inside(rng, p)
		}
	}
	return out
}

// Inside puts something into a text of a payload, or anywhere.
func Inside(rng *rand.Rand, p string) string {
	what := nasty[rng.IntN(len(nasty))]
	if quotes := strings.Count(p, `"`); quotes > 1 && rng.IntN(4) > 0 {
		at := 0
		for range 1 + rng.IntN(quotes) {
			at += strings.IndexByte(p[at:], '"') + 1
		}
		return p[:at] + what + p[at:]
	}
	at := rng.IntN(len(p) + 1)
	if rng.IntN(2) == 0 {
		return p[:at]
	}
	return p[:at] + what + p[at:]
}
