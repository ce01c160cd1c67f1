package llm

import "strings"

// The size of an image in tokens, by provider: what a large screenshot counts
// there. It depends on the sides of the image, never on the bytes of its file.
const (
	claudeImage  = 1600 // 1568 pixels a side at most
	openAIImage  = 1100 // tiles of 512 pixels, high detail
	geminiImage  = 1300 // tiles of 768 pixels, or Gemini 3's high resolution
	unknownImage = 2000
)

// imageTokens is a flat figure for an image in a request; 0 for a model that is
// shown none.
func (m *model) imageTokens() int64 {
	name := strings.ToLower(m.cfg.Profile.Model + " " + m.cfg.Profile.CanonicalName)
	switch {
	case !m.features.vision:
		return 0
	case m.features.claude:
		return claudeImage
	case strings.Contains(name, "gemini"):
		return geminiImage
	case contains(name, "gpt-", "chatgpt", "codex"):
		return openAIImage
	}
	return unknownImage
}
