package browser

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// The limits of a page's text, in characters.
const (
	maxContent = 30_000    // in one result
	maxPage    = 2_000_000 // that are read of a page
)

//go:embed js/content.js
var contentScript string

var (
	emptyLines = pattern.Of(`\n[ \t]*\n\s*\n`)
	lineEnds   = pattern.Of(`[ \t]+\n`)
)

// Content returns the text of the page as Markdown, from a character on.
func (s *Session) Content(ctx context.Context, links bool, from int) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		var found struct {
			URL      string `json:"url"`
			Markdown string `json:"markdown"`
			HTML     int    `json:"html"`
			Cut      bool   `json:"cut"`
		}
		if err := t.eval(ctx, contentScript, &found, links, maxPage); err != nil {
			return "", err
		}
		text := []rune(tidied(found.Markdown))
		if from > 0 && from >= len(text) {
			return fmt.Sprintf("start_from_char (%d) exceeds content length (%d). Content has %d characters after filtering.", from, len(text), len(text)), nil
		}
		part := text[from:]
		stats := fmt.Sprintf("Content processed: %s HTML chars → %s initial markdown → %s filtered markdown",
			thousands(found.HTML), thousands(len([]rune(found.Markdown))), thousands(len(text)))
		if from > 0 {
			stats += fmt.Sprintf(" (started from char %s)", thousands(from))
		}
		if len(part) > maxContent {
			part = part[:breakAt(part)]
			stats += fmt.Sprintf(" → %s final chars (truncated, use start_from_char=%d to continue)", thousands(len(part)), from+len(part))
		} else if found.Cut {
			stats += " (the page is too long: its end is left out)"
		} else if noise := len([]rune(found.Markdown)) - len(text); noise > 0 {
			stats += fmt.Sprintf(" (filtered %s chars of noise)", thousands(noise))
		}
		return "<url>\n" + found.URL + "\n</url>\n<content>\n<content_stats>\n" + stats +
			"\n</content_stats>\n\n<webpage_content>\n" + string(part) + "\n</webpage_content>\n</content>", nil
	})
}

// tidied is Markdown without what is only space.
func tidied(text string) string {
	text = lineEnds().ReplaceAllString(strings.ToValidUTF8(text, "�"), "\n")
	return strings.TrimSpace(emptyLines().ReplaceAllString(text, "\n\n"))
}

// breakAt is where a part ends: at a paragraph or a sentence, if one ends near the limit.
func breakAt(text []rune) int {
	const paragraph, sentence = 500, 200
	near := string(text[maxContent-paragraph : maxContent])
	if i := strings.LastIndex(near, "\n\n"); i >= 0 {
		return maxContent - paragraph + len([]rune(near[:i]))
	}
	near = string(text[maxContent-sentence : maxContent])
	if i := strings.LastIndexByte(near, '.'); i >= 0 {
		return maxContent - sentence + len([]rune(near[:i])) + 1
	}
	return maxContent
}

// thousands is a number with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
