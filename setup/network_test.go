package setup

import "testing"

func TestOnThisMachine(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"http://127.0.0.1:6449": true, "http://localhost:1": true, "http://[::1]:1": true, "http://127.1.2.3": true,
		"http://0.0.0.0:1": false, "http://192.0.2.1": false, "http://localhost.example": false, "https://gateway.example": false, "://": false,
	} {
		if got := OnThisMachine(base); got != want {
			t.Errorf("onThisMachine(%q) = %t", base, got)
		}
	}
}
