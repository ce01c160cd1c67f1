package llm

import (
	"slices"
	"strings"
)

// facts is what is known of a family of models. Zero values mean unknown.
type facts struct {
	match      string // part of the name behind a slash, in lower case, dots as dashes
	window     int64  // tokens
	output     int64  // tokens
	vision     bool
	reasons    bool
	adaptive   bool // thinks as much as the effort says
	noSampling bool // refuses temperature and the like
	responses  bool // is offered by the Responses API
	price      price
}

// price is in US dollars for a million tokens.
type price struct{ in, out, cacheRead, cacheWrite float64 }

// factsOf looks a model up by its name as in a profile, in lower case. The
// first row whose match is part of the name counts.
func factsOf(name string) facts {
	name = "/" + strings.ReplaceAll(name, ".", "-")
	for _, row := range catalog() {
		if strings.Contains(name, row.match) {
			return row
		}
	}
	return facts{}
}

const (
	k128 = 131_072
	k200 = 200_000
	k256 = 262_144
	k272 = 272_000
	m1   = 1_000_000
	m105 = 1_050_000
	m922 = 922_000 // what is left of m105 beside the longest answer
	mBin = 1_048_576
)

// catalog is OpenHands' way to know models, LiteLLM's table of October 2026,
// reduced to the families that agents are run with. The narrower name comes
// first. A model that is missing works with safe defaults.
func catalog() []facts {
	return slices.Concat(claudeModels(), openAIModels(), geminiModels(), deepSeekToQwen(), otherModels())
}

func claudeModels() []facts {
	opus := price{5, 25, 0.5, 6.25}
	oldOpus := price{15, 75, 1.5, 18.75}
	sonnet := price{3, 15, 0.3, 3.75}
	return []facts{
		{match: "claude-fable-5-1", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{10, 50, 0.25, 12.5}},
		{match: "claude-mythos-5-1", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{10, 50, 0.25, 12.5}},
		{match: "claude-mythos-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{10, 50, 1, 12.5}},
		{match: "claude-opus-5-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{4, 20, 0.2, 5}},
		{match: "claude-opus-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: opus},
		{match: "claude-sonnet-5-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{2, 10, 0.1, 2.5}},
		{match: "claude-haiku-5-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{0.1, 0.5, 0.01, 0.125}},
		{match: "claude-fable-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{10, 50, 1, 12.5}},
		{match: "claude-sonnet-5", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: price{2, 10, 0.2, 2.5}},
		{match: "claude-opus-4-8", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: opus},
		{match: "claude-opus-4-7", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, noSampling: true, price: opus},
		{match: "claude-opus-4-6", window: m1, output: 128_000, vision: true, reasons: true, adaptive: true, price: opus},
		{match: "claude-opus-4-5", window: k200, output: 64_000, vision: true, reasons: true, price: opus},
		{match: "claude-opus-4", window: k200, output: 32_000, vision: true, reasons: true, price: oldOpus},
		{match: "claude-4-opus", window: k200, output: 32_000, vision: true, reasons: true, price: oldOpus},
		{match: "claude-sonnet-4-6", window: m1, output: 64_000, vision: true, reasons: true, adaptive: true, price: sonnet},
		{match: "claude-sonnet-4", window: k200, output: 64_000, vision: true, reasons: true, price: sonnet},
		{match: "claude-4-sonnet", window: k200, output: 64_000, vision: true, reasons: true, price: sonnet},
		{match: "claude-haiku-4-5", window: k200, output: 64_000, vision: true, reasons: true, price: price{1, 5, 0.1, 1.25}},
		{match: "claude-3-7-sonnet", window: k200, output: 64_000, vision: true, reasons: true, price: sonnet},
		{match: "claude-3-5-sonnet", window: k200, output: 8192, vision: true, price: sonnet},
		{match: "claude-3-5-haiku", window: k200, output: 8192, vision: true, price: price{0.8, 4, 0.08, 1}},
		{match: "claude-3-opus", window: k200, output: 4096, vision: true, price: oldOpus},
		{match: "claude-3-haiku", window: k200, output: 4096, vision: true, price: price{0.25, 1.25, 0.03, 0.3}},
		{match: "claude-3-sonnet", window: k200, output: 4096, vision: true, price: sonnet},
		{match: "claude-instant", window: 100_000, output: 4096},
		{match: "claude-v2", window: 100_000, output: 4096},
		{match: "claude-2", window: 100_000, output: 4096},
		// Newer ones are expected to be like the newest known.
		{match: "claude-", window: k200, output: 64_000, vision: true, reasons: true, adaptive: true, noSampling: true},
	}
}

func openAIModels() []facts {
	five := func(match string, window int64, p price) facts {
		return facts{match: match, window: window, output: 128_000, vision: true, reasons: true, responses: true, price: p}
	}
	chatty := func(match string, p price) facts {
		return facts{match: match, window: 128_000, output: 16_384, vision: true, responses: true, price: p}
	}
	small := func(match string, p price) facts {
		return facts{match: match, window: 1_047_576, output: 32_768, vision: true, responses: true, price: p}
	}
	return []facts{
		five("gpt-6-1-sol", m922, price{2, 10, 0.1, 2.5}),
		five("gpt-6-sol", m922, price{2, 10, 0.2, 2.5}),
		five("gpt-6-luna", m922, price{0.1, 0.5, 0.01, 0.125}),
		five("gpt-6-astra", m922, price{10, 50, 1, 12.5}),
		five("gpt-6", m922, price{}),
		five("gpt-5-6-cyber", 400_000, price{12.5, 75, 1.25, 15.625}),
		five("gpt-5-6-terra", m922, price{2, 12, 0.2, 2.5}),
		five("gpt-5-6-luna", m922, price{0.2, 1.2, 0.02, 0.25}),
		five("gpt-5-6", m922, price{4, 20, 0.4, 5}),
		five("gpt-5-5-pro", m105, price{30, 180, 3, 0}),
		five("gpt-5-5", m105, price{5, 30, 0.5, 0}),
		five("gpt-5-4-pro", m105, price{30, 180, 3, 0}),
		five("gpt-5-4-mini", k272, price{0.75, 4.5, 0.075, 0}),
		five("gpt-5-4-nano", k272, price{0.2, 1.25, 0.02, 0}),
		five("gpt-5-4", m105, price{2.5, 15, 0.25, 0}),
		chatty("gpt-5-3-chat", price{1.75, 14, 0.175, 0}),
		five("gpt-5-3", k272, price{1.75, 14, 0.175, 0}),
		chatty("gpt-5-2-chat", price{1.75, 14, 0.175, 0}),
		five("gpt-5-2-pro", k272, price{21, 168, 0, 0}),
		five("gpt-5-2", k272, price{1.75, 14, 0.175, 0}),
		chatty("gpt-5-1-chat", price{1.25, 10, 0.125, 0}),
		five("gpt-5-1-codex-mini", k272, price{0.25, 2, 0.025, 0}),
		five("gpt-5-1", k272, price{1.25, 10, 0.125, 0}),
		chatty("gpt-5-chat", price{1.25, 10, 0.125, 0}),
		five("gpt-5-pro", k272, price{15, 120, 0, 0}),
		five("gpt-5-mini", k272, price{0.25, 2, 0.025, 0}),
		five("gpt-5-nano", k272, price{0.05, 0.4, 0.005, 0}),
		five("gpt-5", k272, price{1.25, 10, 0.125, 0}),
		{match: "codex-mini-latest", window: k200, output: 100_000, vision: true, reasons: true, responses: true, price: price{1.5, 6, 0.375, 0}},
		small("gpt-4-1-mini", price{0.4, 1.6, 0.1, 0}),
		small("gpt-4-1-nano", price{0.1, 0.4, 0.025, 0}),
		small("gpt-4-1", price{2, 8, 0.5, 0}),
		{match: "gpt-4o-mini", window: 128_000, output: 16_384, vision: true, price: price{0.15, 0.6, 0.075, 0}},
		{match: "gpt-4o", window: 128_000, output: 16_384, vision: true, price: price{2.5, 10, 1.25, 0}},
		{match: "gpt-oss", window: k128, output: 32_768, reasons: true},
		{match: "/o4-mini", window: k200, output: 100_000, vision: true, reasons: true, price: price{1.1, 4.4, 0.275, 0}},
		{match: "/o3-mini", window: k200, output: 100_000, reasons: true, price: price{1.1, 4.4, 0.55, 0}},
		{match: "/o3-pro", window: k200, output: 100_000, vision: true, reasons: true, responses: true, price: price{20, 80, 0, 0}},
		{match: "/o1-pro", window: k200, output: 100_000, vision: true, reasons: true, responses: true, price: price{150, 600, 0, 0}},
		{match: "/o3", window: k200, output: 100_000, vision: true, reasons: true, responses: true, price: price{2, 8, 0.5, 0}},
		{match: "/o1", window: k200, output: 100_000, vision: true, reasons: true, price: price{15, 60, 7.5, 0}},
	}
}

func geminiModels() []facts {
	gemini := func(match string, p price) facts {
		return facts{match: match, window: mBin, output: 65_535, vision: true, reasons: true, price: p}
	}
	plain := func(match string, p price) facts {
		f := gemini(match, p)
		f.noSampling = true
		return f
	}
	return []facts{
		{match: "gemini-4-argon", window: mBin, output: 524_288, vision: true, reasons: true, price: price{2, 10, 0.1, 0}},
		plain("gemini-3-8-flash", price{0.75, 3.75, 0.075, 0}),
		plain("gemini-3-7-flash", price{0.75, 3.75, 0.075, 0}),
		plain("gemini-3-6-flash", price{0.75, 3.75, 0.075, 0}),
		plain("gemini-3-5-flash-lite", price{0.3, 2.5, 0.03, 0}),
		gemini("gemini-3-5-flash", price{1.5, 9, 0.15, 0}),
		gemini("gemini-3-1-flash-lite", price{0.25, 1.5, 0.025, 0}),
		gemini("gemini-3-1-pro", price{2, 12, 0.2, 0}),
		gemini("gemini-3-flash", price{0.5, 3, 0.05, 0}),
		gemini("gemini-3-pro", price{2, 12, 0.2, 0}),
		gemini("gemini-3", price{}),
		gemini("gemini-2-5-flash-lite", price{0.1, 0.4, 0.01, 0}),
		gemini("gemini-2-5-flash", price{0.3, 2.5, 0.03, 0}),
		gemini("gemini-2-5-pro", price{1.25, 10, 0.125, 0}),
		{match: "gemini-2-0-flash", window: mBin, output: 8192, vision: true, price: price{0.1, 0.4, 0.025, 0}},
	}
}

// deepSeekToQwen lists the families of DeepSeek, Moonshot, MiniMax, Z.ai and Alibaba.
func deepSeekToQwen() []facts {
	return []facts{
		{match: "deepseek-v4-1-flash", window: m1, output: 393_216, reasons: true},
		{match: "deepseek-v4-flash", window: m1, output: 393_216, vision: true, reasons: true, price: price{0.3, 1.2, 0.006, 0}},
		{match: "deepseek-v4", window: m1, output: 393_216, reasons: true, price: price{1.32, 3.96, 0.044, 0}},
		{match: "deepseek-v3-2", window: 163_840, output: 65_536, reasons: true},
		{match: "deepseek-reasoner", window: k128, output: 65_536, reasons: true, price: price{0.28, 0.42, 0.028, 0}},
		{match: "deepseek-chat", window: k128, output: 8192, price: price{0.28, 0.42, 0.028, 0}},
		{match: "deepseek-r1", window: 65_536, output: 8192, reasons: true},

		{match: "kimi-k3", window: mBin, output: mBin, vision: true, reasons: true, price: price{3, 15, 0.3, 0}},
		{match: "kimi-k2-7-code", window: k256, output: k256, vision: true, reasons: true, price: price{0.95, 4, 0.19, 0}},
		{match: "kimi-k2-6", window: k256, output: k256, vision: true, reasons: true, price: price{0.95, 4, 0.16, 0}},
		{match: "kimi-k2-5", window: k256, output: k256, vision: true, reasons: true, price: price{0.6, 3, 0.1, 0}},
		{match: "kimi-k2-thinking", window: k256, output: k256, reasons: true, price: price{0.6, 2.5, 0.15, 0}},
		{match: "kimi-k2", window: k128, output: 16_384, price: price{0.6, 2.5, 0.15, 0}},

		{match: "minimax-m3", window: m1, output: 128_000, vision: true, reasons: true, price: price{0.3, 1.2, 0.06, 0}},
		{match: "minimax-m2-", window: m1, output: 8192, reasons: true, price: price{0.3, 1.2, 0.03, 0.375}},
		{match: "minimax-m2", window: k200, output: 8192, reasons: true, price: price{0.3, 1.2, 0.03, 0.375}},

		{match: "glm-5-3-flash", window: mBin, output: 128_000, vision: true, reasons: true, price: price{0.15, 0.5, 0.03, 0}},
		{match: "glm-5-3", window: m1, output: 128_000, reasons: true, price: price{1.4, 4.4, 0.26, 0}},
		{match: "glm-5-2", window: m1, output: 128_000, reasons: true, price: price{1.4, 4.4, 0.26, 0}},
		{match: "glm-5-1", window: k200, output: 128_000, reasons: true, price: price{1.4, 4.4, 0.26, 0}},
		{match: "glm-5-code", window: k200, output: 128_000, reasons: true, price: price{1.2, 5, 0.3, 0}},
		{match: "glm-5", window: k200, output: 128_000, reasons: true, price: price{1, 3.2, 0.2, 0}},
		{match: "glm-4-7", window: k200, output: 128_000, reasons: true, price: price{0.6, 2.2, 0.11, 0}},
		{match: "glm-4-6", window: k200, output: 128_000, reasons: true, price: price{0.6, 2.2, 0.11, 0}},
		{match: "glm-4-5v", window: 128_000, output: 32_000, vision: true, price: price{0.6, 1.8, 0, 0}},
		{match: "glm-4-5", window: 128_000, output: 32_000, price: price{0.6, 2.2, 0, 0}},

		{match: "qwen3-coder-plus", window: 997_952, output: 65_536},
		{match: "qwen3-coder", window: k256, output: 65_536},
		{match: "qwen3-vl", window: k128, output: 32_768, vision: true},
		{match: "qwen3-8-max", window: 991_808, output: 131_072, vision: true, reasons: true, price: price{2, 6, 0.25, 0}},
		{match: "qwen3-8-flash", window: 991_808, output: 131_072, vision: true, reasons: true, price: price{0.15, 0.47, 0.016, 0.2}},
		{match: "qwen3-7-max", window: 991_808, output: 65_536, reasons: true, price: price{2.5, 7.5, 0.5, 3.125}},
		{match: "qwen3-7-plus", window: 991_808, output: 65_536, vision: true, reasons: true},
		{match: "qwen3-max", window: 258_048, output: 65_536, reasons: true},
		{match: "qwen3-6-plus", window: 991_808, output: 65_536, vision: true, reasons: true},
		{match: "qwen3-5-plus", window: 991_808, output: 65_536, vision: true, reasons: true},
	}
}

func otherModels() []facts {
	return []facts{
		{match: "devstral-medium-2507", window: 128_000, output: 128_000, price: price{0.4, 2, 0, 0}},
		{match: "pixtral", window: 128_000, output: 128_000, vision: true},
		{match: "devstral-small-25", window: 128_000, output: 128_000, price: price{0.1, 0.3, 0, 0}},
		{match: "devstral", window: 256_000, output: 256_000, price: price{0.4, 2, 0, 0}},
		{match: "codestral-2508", window: 256_000, output: 256_000, price: price{0.3, 0.9, 0, 0}},
		{match: "magistral", window: 40_000, output: 40_000, reasons: true},
		{match: "mistral-large", window: k256, output: k256, vision: true, price: price{0.5, 1.5, 0, 0}},
		{match: "mistral-medium", window: k128, output: k128, vision: true, price: price{0.4, 2, 0, 0}},

		{match: "grok-4-7", window: 500_000, vision: true, reasons: true, price: price{2, 6, 0.5, 0}},
		{match: "grok-4-6", window: 500_000, vision: true, reasons: true, price: price{2, 6, 0.5, 0}},
		{match: "grok-4-5", window: 500_000, vision: true, reasons: true, price: price{2, 6, 0.5, 0}},
		{match: "grok-4-3", window: m1, vision: true, reasons: true, price: price{1.25, 2.5, 0.2, 0}},
		{match: "grok-4-1-fast", window: 2 * m1, vision: true, reasons: true, price: price{0.2, 0.5, 0.05, 0}},
		{match: "grok-4-fast", window: 2 * m1, price: price{0.2, 0.5, 0.05, 0}},
		{match: "grok-code-fast", window: 256_000, reasons: true, price: price{0.2, 1.5, 0.02, 0}},
		{match: "grok-4", window: 256_000, price: price{3, 15, 0, 0}},
		{match: "grok-3-mini", window: k128, output: k128, reasons: true, price: price{0.3, 0.5, 0.075, 0}},
		{match: "grok-3", window: k128, output: k128, price: price{3, 15, 0.75, 0}},

		{match: "nova-micro", window: 128_000, output: 10_000, price: price{0.035, 0.14, 0, 0}},
		{match: "nova-lite", window: 300_000, output: 10_000, vision: true, price: price{0.06, 0.24, 0, 0}},
		{match: "nova-pro", window: 300_000, output: 10_000, vision: true, price: price{0.8, 3.2, 0, 0}},
		{match: "nova-premier", window: m1, output: 10_000, vision: true, price: price{2.5, 12.5, 0, 0}},

		{match: "nemotron-3", window: 256_000, output: 32_768},
	}
}
