package launch

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/master/each"
)

// frameworks are packages after which people name files of their own. Python looks into the task's folder first, so the
// code, and Detent's package, would import such a file in place of the package.
func frameworks() []string {
	return []string{"determined", "torch", "tensorflow", "keras", "tf_keras", "numpy", "transformers", "lightning", "pytorch_lightning", "deepspeed", "datasets", "sklearn"}
}

// How much code is read to find who imports a package.
const (
	maxImporter  = 1 << 20 // bytes of one file
	maxImporters = 2 << 20 // bytes of all files
)

// shadows returns a remark for each file or folder that is imported in place of a package. The files are clean and sorted.
func (c *Code) shadows(files []submittedFile) (remarks []string, err error) {
	there := each.Map(files, func(f submittedFile) (string, bool) { return f.Path, f.Type == fileRegular })
	for _, name := range frameworks() {
		own := name + ".py"
		if !there[own] {
			own = name + "/__init__.py"
		}
		if !there[own] {
			continue // a folder without __init__.py comes after every package
		}
		by := "Detent's package" // which every launcher and most code imports
		if name != "determined" {
			if by, err = c.importer(files, name); err != nil {
				return nil, err
			}
			if by == "" {
				continue
			}
		}
		remarks = append(remarks, fmt.Sprintf("the code has %s, which Python imports in place of the package %s; %s would not find that package: give the file another name", own, name, by))
	}
	return remarks, nil
}

// importer returns the first file of code that imports a package; "" for none.
func (c *Code) importer(files []submittedFile, name string) (string, error) {
	imports := regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+` + name + `\b|import[ \t]+(?:[\w.]+[ \t]*(?:as[ \t]+\w+[ \t]*)?,[ \t]*)*` + name + `\b)`)
	left := int64(maxImporters)
	for _, f := range files {
		if f.Type != fileRegular || path.Ext(f.Path) != ".py" || f.Path == name+".py" || strings.HasPrefix(f.Path, name+"/") {
			continue
		}
		text := make([]byte, min(f.Size, maxImporter, left))
		left -= int64(len(text))
		if _, err := io.ReadFull(c.content.Section(f.Offset, int64(len(text))), text); err != nil && len(text) > 0 {
			return "", err
		}
		if imports.Match(text) {
			return f.Path, nil
		}
	}
	return "", nil
}
