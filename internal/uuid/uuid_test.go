package uuid_test

import (
	"regexp"
	"testing"

	"github.com/ohgw/ohgw/internal/uuid"
)

func TestNewIsVersion4AndUnique(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 1000 {
		id := uuid.New()
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("New() = %q, seen %v", id, seen[id])
		}
		seen[id] = true
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const want = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	for _, s := range []string{want, "7f1c0f7e5a3b4d519c430a7d5c2f8b11", "7F1C0F7E-5A3B-4D51-9C43-0A7D5C2F8B11"} {
		if got, err := uuid.Parse(s); err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v, want %q", s, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "new", "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b1", "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b1g",
		"7f1c0f7e5-a3b-4d51-9c43-0a7d5c2f8b11", "{7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11}",
		"7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f-b11", "7f1c0f7e-5a3b-4d51-9c43-\n0a7d5c2f8b1",
	} {
		if got, err := uuid.Parse(s); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", s, got)
		}
	}
}

func TestBeginning(t *testing.T) {
	t.Parallel()
	const id = "4f5aa39b-8af2-4e5d-b6e3-23d44f9d222d"
	for typed, begins := range map[string]bool{
		"4": true, "4f5aa39b": true, "4F5AA39B": true, "4f5aa39b-": true, "4f5aa39b-8af": true, "4f5aa39b8af2": true, "8af2": false, "4f5b": false,
	} {
		plain, ok := uuid.Beginning(typed)
		if !ok || uuid.Begins(id, plain) != begins {
			t.Errorf("%q: plain = %q, ok %v", typed, plain, ok)
		}
	}
	for _, typed := range []string{"", "-4f", "-", "mine", "4f5g", "4f 5", id, "4f5aa39b8af24e5db6e323d44f9d222d", id + "0"} {
		if plain, ok := uuid.Beginning(typed); ok {
			t.Errorf("%q: plain = %q", typed, plain)
		}
	}
}
