package prompt

import (
	_ "embed"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/truncate"
)

// smallText is the static part for a model with a small context: a model that has 4,096
// tokens in all needs most of them for the user.
//
//go:embed small.md
var smallText string

// maxSmallFile is how much a small prompt has of a persona or of a file, such as AGENTS.md,
// in bytes.
const maxSmallFile = 1200

// Small is the system prompt of [Prompt.System] for a model with a small context. The
// guidance of tools is not in it.
func (p *Prompt) Small(tools []tool.Definition, model string) (static, dynamic string) {
	return p.smallStatic(), p.dynamic(tools, model, true)
}

// smallStatic has who the agent is in its first paragraph: ohgw's own, or that of the user.
func (p *Prompt) smallStatic() string {
	if p.cfg.Static != "" {
		return p.cfg.Static
	}
	first, rest, _ := strings.Cut(smallText, "\n\n")
	if persona := strings.TrimSpace(p.cfg.Persona); persona != "" {
		first = fitting(persona, "")
	} else if soul, path := p.ownSoul(); soul != "" {
		first = soulOpen + fitting(soul, path) + soulClose
	}
	return first + "\n\n" + strings.TrimSpace(rest+p.smallGuide())
}

// fitting is a text as far as a small prompt has room for it. Path is its file, if there
// is one that the agent can read.
func fitting(text, path string) string {
	if len(text) <= maxSmallFile {
		return text
	}
	text = truncate.Bytes(text, maxSmallFile, "")
	if line := strings.LastIndexByte(text, '\n'); line > maxSmallFile/2 {
		text = text[:line]
	}
	if path == "" {
		return text + "\n(cut here)"
	}
	return text + "\n(cut here; the rest is in " + path + ")"
}
