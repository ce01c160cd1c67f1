package secret_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/secret"
)

func TestDigestsAndIdsAreNoKeys(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"compare 4bf92f3577b34da6a3ce929d0e0e4736 with 00f067aa0ba902b7",
		"docker pull alpine@sha256:c5b1261d6d3e43071626931fc004f70149baeba2c8ec672bd4f27761f8e1ad6b",
		"01JD8Z6X3T9QWERTY4ASDFGH5K", "req_011CSHoEeqs5C35K2UUqR7Fy", "build20261128T101500Z",
		"2c26b46b68ffc68ff99b453c1d304134", "ohgw-2c26b46b68ffc68ff99b453c1d30413413422d70",
		"what is skeletonization-mode", "why does pkg-config-wrapper-2 fail?", "sk-learn-internationalization",
		"translate sk-SK-x-locale-2026", "task-sk-20261128T101500", "hf_transformers_model_loader_2",
		"does `password: changeme1` pass the linter?", "curl -H 'Authorization: Bearer abcdefgh1234'",
		"postgres://joe:sesame1@db/x", "token=identifier in the grammar", "E1b3f5a7c9d1e3f5.eu-west-1.example.net",
	} {
		if secret.HasKey(text) {
			t.Errorf("HasKey(%q)", text)
		}
	}
}

func TestKeysOfKnownIssuersAreFoundInTexts(t *testing.T) {
	t.Parallel()
	// Each key is put together here so that no scanner takes this file for a leak.
	random := strings.Repeat("aB3dE6gH", 4)
	for _, key := range []string{
		"sk-" + random, "sk-proj-" + random, "sk-ant-api03-" + random + "-_" + random, "sk-or-v1-" + strings.Repeat("0a1b", 16), "sk_" + random,
		"ghp_" + random, "github_pat_" + random, "hf_" + strings.Repeat("aBcDeFgH", 4), "gsk_" + random, "xai-" + random, "AIza" + "Sy" + random, "AKIA" + "IOSFODNN7EXAMPL3",
		"xoxb-123456789012-" + random, "glpat-" + random, "ohgw-" + random, "gAAAAA" + "BpVb" + random,
	} {
		for _, text := range []string{key, "use my key " + key + " for it", "export OPENAI_API_KEY=" + key, "'" + key + "'", "https://" + key + "@host/x"} {
			if !secret.HasKey(text) {
				t.Errorf("HasKey(%q) = false", text)
			}
		}
	}
}
