package prompt

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// smallText is the static part for a model with a small context: a model that has 4,096
// tokens in all needs most of them for the user.
//
//go:embed small.md
var smallText string

// maxSmallFile is how much of a file of the workspace, such as AGENTS.md, a small prompt
// has, in bytes.
const maxSmallFile = 1200

// Small is the system prompt of [Prompt.System] for a model with a small context.
func (p *Prompt) Small(tools []tool.Definition, model string) (static, dynamic string) {
	if static = p.cfg.Static; static == "" {
		static = smallText
	}
	return static, p.dynamic(tools, model, true)
}

// fitting is a text of a file as far as a small prompt has room for it.
func fitting(text, path string) string {
	if len(text) <= maxSmallFile {
		return text
	}
	end := maxSmallFile
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > maxSmallFile/2 {
		end = line
	}
	return text[:end] + "\n(cut here; the rest is in " + path + ")"
}
