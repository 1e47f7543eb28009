package python

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestHTML(t *testing.T) {
	got := string(toHTML("<!-- made -->\n\n# `a.b`\n\nTake `x<y>` & [`C`](a.c.md#class-c),\nor [this](../up.md) and [that](#f).\n\n" +
		"- one\n  more\n- two\n\nEnd.\n\n## class `C`\n\n```python\nif a < b:\n\n    \"f\"\n```\n\nLast `[x](y)`.\n"))
	want := `<h1 id="ab"><code>a.b</code></h1>
<p>Take <code>x&lt;y&gt;</code> &amp; <a href="/docs/python/a.c#class-c"><code>C</code></a>,
or this and <a href="#f">that</a>.</p>
<ul>
<li>one
more</li>
<li>two</li>
</ul>
<p>End.</p>
<h2 id="class-c">class <code>C</code></h2>
<pre>if a &lt; b:

    &#34;f&#34;
</pre>
<p>Last <code>[x](y)</code>.</p>
`
	if got != want {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
}

var (
	href = regexp.MustCompile(`href="([^"#]*)(?:#([^"]*))?"`)
	id   = regexp.MustCompile(`id="([^"]+)"`)
)

// TestPagesLinkWhatIsThere: each page can be read, and no link of it leads nowhere.
func TestPagesLinkWhatIsThere(t *testing.T) {
	names, err := fs.Glob(files, "pages/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("there are no pages: run ./justw made")
	}
	anchors, bodies := map[string]map[string]bool{}, map[string]string{}
	for _, name := range names {
		module := strings.TrimSuffix(path.Base(name), ".md")
		if module == start {
			module = ""
		}
		page, err := Read(module)
		if err != nil || page.Title == "" {
			t.Fatalf("%s: %q, %v", name, page.Title, err)
		}
		at := strings.TrimSuffix(Path+"/"+module, "/")
		bodies[at], anchors[at] = string(page.Body), map[string]bool{}
		for _, m := range id.FindAllStringSubmatch(string(page.Body), -1) {
			anchors[at][m[1]] = true
		}
	}
	links := 0
	for at, body := range bodies {
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			links++
			to := m[1]
			if to == "" {
				to = at
			}
			if anchors[to] == nil || m[2] != "" && !anchors[to][m[2]] {
				t.Errorf("%s links to %s#%s, which is not there", at, m[1], m[2])
			}
		}
	}
	if len(bodies) < 30 || links < 300 {
		t.Errorf("only %d pages and %d links", len(bodies), links)
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	for _, name := range []string{"none", "README", "../python/README", "determined.md", "", "determined/core"} {
		_, err := Read(name)
		if name == "" && err != nil || name != "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
