module github.com/ohgw/ohgw

go 1.26.0
