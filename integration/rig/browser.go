package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BrowserTools finds Node and Chromium, or skips the test with a message about what is missing.
func BrowserTools(t *testing.T) (node, chromium string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node: install it (Debian: apt-get install nodejs npm)")
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		t.Skip("there is no browser: install Chromium (Debian: apt-get install chromium), or name one in CHROMIUM")
	}
	for _, file := range []string{"dist/index.html", "node_modules/playwright-core/package.json"} {
		if _, err := os.Stat(filepath.Join("..", "..", "webui", file)); err != nil {
			t.Skipf("webui/%s is missing: ./justw ui makes it", file)
		}
	}
	return node, chromium
}
