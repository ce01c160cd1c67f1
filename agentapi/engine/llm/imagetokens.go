package llm

import (
	"strings"

	"github.com/ohgw/ohgw/internal/optional"
)

// The size of an image in tokens, by provider: what a large screenshot counts
// there. It depends on the sides of the image, never on the bytes of its file.
const (
	claudeImage  = 1600 // 1568 pixels a side at most
	openAIImage  = 1100 // 85 and 170 for each of 6 tiles of 512 pixels, high detail
	geminiImage  = 1300 // tiles of 768 pixels, or Gemini 3's high resolution
	unknownImage = 2000

	// The small models of OpenAI count more, so that an image costs about as much.
	gpt4oMiniImage  = 37_000 // 2833 and 5667 for each tile
	openAIMiniImage = 2500   // 1536 patches of 32 pixels, 1.62 each
	openAINanoImage = 3800   // 2.46 each
)

// imageTokens returns a flat figure for an image in a request; 0 for a model that is
// shown none.
func (m *model) imageTokens() int64 {
	name := strings.ToLower(m.cfg.Profile.Model + " " + optional.Or(m.cfg.Profile.CanonicalName, ""))
	switch {
	case !m.features.vision:
		return 0
	case m.features.claude:
		return claudeImage
	case strings.Contains(name, "gemini"):
		return geminiImage
	case strings.Contains(name, "gpt-4o-mini"):
		return gpt4oMiniImage
	case contains(name, "gpt-", "o4-") && strings.Contains(name, "-mini"):
		return openAIMiniImage
	case strings.Contains(name, "gpt-") && strings.Contains(name, "-nano"):
		return openAINanoImage
	case contains(name, "gpt-", "chatgpt", "codex"):
		return openAIImage
	}
	return unknownImage
}
