package table

import (
	"fmt"
	"reflect"
	"time"
)

// NA is an unknown value, in the tables in which Determined writes it.
const NA = "N/A"

// OrNA returns NA for an empty value.
func OrNA(cell any) any {
	if v := reflect.ValueOf(cell); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return NA
	}
	return plain(cell)
}

// Time formats a time in UTC; nil for none.
func Time(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02 15:04:05-0700")
}

// Percent formats a fraction as a percentage; nil for none.
func Percent(f *float64) any {
	if f == nil {
		return nil
	}
	return fmt.Sprintf("%.1f%%", *f*100)
}
