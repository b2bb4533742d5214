package postgres

var Configure = configure
