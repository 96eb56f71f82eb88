/* nothing - do nothing. Linked statically, it is the least that a process can be. */
int main(void)
{
	return 0;
}
