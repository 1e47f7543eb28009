// Package order has the flags of lists that can be sorted.
package order

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/args"
)

// Flags is --sort-by and --order-by.
type Flags struct {
	sortBy, orderBy args.OneOf
}

// Add adds the flags; the first field is the default.
func (f *Flags) Add(cmd *cobra.Command, fields ...string) {
	f.sortBy = args.OneOf{Value: fields[0], Allowed: fields}
	f.orderBy = args.OneOf{Value: "asc", Allowed: []string{"asc", "desc"}}
	cmd.Flags().Var(&f.sortBy, "sort-by", "column to sort by")
	cmd.Flags().Var(&f.orderBy, "order-by", "ascending or descending")
}

// SortBy is the column in the form of the API.
func (f *Flags) SortBy() string { return "SORT_BY_" + strings.ToUpper(f.sortBy.Value) }

// OrderBy is the direction in the form of the API.
func (f *Flags) OrderBy() string { return "ORDER_BY_" + strings.ToUpper(f.orderBy.Value) }
