package config

import "testing"

func TestOriginsOfAppsAreTaken(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"app://obsidian.md": "app://obsidian.md", "chrome-extension://abcdefgh": "chrome-extension://abcdefgh", "TAURI://Localhost": "tauri://localhost",
		"vscode-webview://0a-1b": "vscode-webview://0a-1b", "ionic://localhost:8100/": "ionic://localhost:8100",
	} {
		got, err := checkOrigin(given)
		if err != nil || got != want {
			t.Errorf("%s: origin = %q, error %v", given, got, err)
		}
	}
}
