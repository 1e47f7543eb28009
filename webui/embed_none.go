//go:build no_ui

// Package webui holds the pages of the master; this build leaves them out.
package webui

import (
	"embed"
	"io/fs"
)

// Files are no pages.
func Files() fs.FS { return embed.FS{} }
