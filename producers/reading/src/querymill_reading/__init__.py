"""Reading documents as they are: a file becomes pages, and a title, company, period and date are proposed."""
