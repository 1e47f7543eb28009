//go:build !no_ui

// Package webui holds the pages of the master: a Preact application that Vite
// builds into dist (./justw ui), which becomes part of the master's binary.
//
// dist is not committed; its .keep is, so that the master builds without Node and
// then says that it has no pages. The tag no_ui leaves them out on purpose.
//
//	src/lib      what pages are made of, without pages: api, live, router, table, chart, log view
//	src/pages    a file per page
//	src/parts    what several pages show
//	src/style.css the one style sheet: tokens for light and dark, then the parts
//	test         vitest for lib; browser.mjs drives Chromium against a real master
package webui

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files are the built pages. Without index.html the binary has none.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("webui: " + err.Error()) // the name is a constant
	}
	return files
}
