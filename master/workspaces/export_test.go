package workspaces

// ProjectSorts are the columns by which lists of projects are sorted. For tests, which are in another package because they use store, which
// imports this one.
var ProjectSorts = listedProjects.Sorts
