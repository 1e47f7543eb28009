package browser

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestWhichBrowser(t *testing.T) {
	installed := func(names ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(names, name) {
				return "/bin/" + name, nil
			}
			return "", errors.New("not found")
		}
	}
	for _, c := range []struct {
		name, system string
		env          map[string]string
		look         func(string) (string, error)
		want         string
	}{
		{"as told", "linux", map[string]string{"BROWSER": "firefox"}, installed("firefox"), "/bin/firefox http://x"},
		{"the first that is there", "linux", map[string]string{"BROWSER": "opera:firefox --new-tab"}, installed("firefox"), "/bin/firefox --new-tab http://x"},
		{"where it says", "darwin", map[string]string{"BROWSER": "w --url=%s -q"}, installed("w"), "/bin/w --url=http://x -q"},
		{"the desktop's", "linux", map[string]string{"DISPLAY": ":0"}, installed("xdg-open"), "/bin/xdg-open http://x"},
		{"Wayland's", "linux", map[string]string{"BROWSER": "gone", "WAYLAND_DISPLAY": "w"}, installed("xdg-open"), "/bin/xdg-open http://x"},
		{"macOS", "darwin", nil, installed("open"), "/bin/open http://x"},
		{"Windows", "windows", nil, installed("rundll32"), "/bin/rundll32 url.dll,FileProtocolHandler http://x"},
		{"no desktop", "linux", nil, installed("xdg-open"), ""},
		{"nothing installed", "linux", map[string]string{"DISPLAY": ":0"}, installed(), ""},
	} {
		argv, err := command(c.system, func(k string) string { return c.env[k] }, c.look, "http://x")
		if got := strings.Join(argv, " "); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

// TestOnlyWebPages: an address of the master starts no program but a browser, and is no option of one.
func TestOnlyWebPages(t *testing.T) {
	for _, address := range []string{"", "x", "--gpu-launcher=sh", "-aTerminal", "file:///etc/passwd", `\\host\share\x.exe`, "http:", "http:///x", "javascript:alert(1)",
		"ms-settings:x", "http://user@host/", "https://:80/", " http://x", "http://x\n--y"} {
		if got, err := page(address); err == nil {
			t.Errorf("%q is opened as %q", address, got)
		}
		if err := Open(t.Context(), func(string) string { return "/nonexistent" }, address); err == nil || !strings.Contains(err.Error(), "not one of a web page") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, address := range []string{"http://x", "https://master.example:8443/proxy/1/?a=b#c", "http://[::1]:8080/"} {
		if got, err := page(address); err != nil || got != address {
			t.Errorf("%q: %q %v", address, got, err)
		}
	}
}
