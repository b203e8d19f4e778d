syntax match DiffAdd /^│ +.*/
syntax match DiffDelete /^│ -.*/
syntax match WarningMsg /^! .*/
syntax match Title /^[━●] .*/
