//go:build linux

package api

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/proxy"
)

// TestAHostilePageInARealBrowser: an admin opens a notebook of another user, whose page attacks the
// admin's own notebook, also by way of the master's pages that lead to it (webui/test/visitor.mjs).
func TestAHostilePageInARealBrowser(t *testing.T) {
	chromium := browserTools(t)
	for _, c := range []struct{ name, master, pages, tasks, domain string }{
		{"one port for all tasks, by plain HTTP", "detent.test", "one", "detent.test", ""},
		{"one port for all tasks, on this machine", "localhost", "one", "localhost", ""},
		{"a host for each task", "127.0.0.1", "own", "", "localhost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(t testing.TB, change ...func(*Config)) *rig {
				return withBuiltPages(t, append(change, func(c *Config) {
					c.BlankLogin = func(string, string) bool { return true } // under any name: the page's password is not what is tried here
				})...)
			}
			v := proxyRigOf(t, start, func(o *proxy.Origins) {
				_, port, _ := net.SplitHostPort(strings.TrimPrefix(o.URL, "http://"))
				o.Master = "http://" + c.master + ":1" // the page of the rig does not follow links to it
				if o.URL = "http://" + c.tasks + ":" + port; c.domain != "" {
					o.URL, o.Domain = "", c.domain+":"+port
				}
			})
			v.user("admin").post("/api/v1/users", `{"user":{"username":"mallory","active":true},"password":""}`).ok()
			hostile, own := v.open("mallory", "notebooks"), v.open("admin", "notebooks")
			at, err := url.Parse(v.url)
			if err != nil {
				t.Fatal(err)
			}
			world, err := json.Marshal(map[string]string{"master": "http://" + c.master + ":" + at.Port(), "pages": c.pages,
				"hostile": "/proxy/" + hostile.id + "/", "own": "/proxy/" + own.id + "/", "id": own.id})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "node", "test/visitor.mjs")
			cmd.Dir = filepath.Join("..", "..", "webui")
			cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "DETENT_WORLD="+string(world))
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Errorf("the browser: %v", err)
			}
			for _, body := range own.bodies() {
				if strings.Contains(body, "evil") {
					t.Errorf("the admin's notebook received %q", body)
				}
			}
		})
	}
}

// withBuiltPages starts an API that serves the pages as they were built.
func withBuiltPages(t testing.TB, change ...func(*Config)) *rig {
	return newRig(t, append(change, func(c *Config) { c.Pages = os.DirFS("../../webui/dist") })...)
}

// browserTools finds a browser, or returns a message about what is missing.
func browserTools(t *testing.T) (chromium string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node: install it (Debian: apt-get install nodejs npm)")
	}
	for _, file := range []string{"node_modules/playwright-core/package.json", "dist/index.html"} {
		if _, err := os.Stat("../../webui/" + file); err != nil {
			t.Skipf("webui/%s is missing: ./justw ui makes it", file)
		}
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no browser: install Chromium (Debian: apt-get install chromium), or name one in CHROMIUM")
	return ""
}
