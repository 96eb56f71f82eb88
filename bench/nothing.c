/* nothing - do nothing. Linked statically: the least that a process can be. */
int main(void)
{
	return 0;
}
